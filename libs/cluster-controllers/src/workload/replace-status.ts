import { jsonEquals } from '#lib/json';
import { isNotFound, type Informer, type KubeClient } from '#lib/kube';
import type { KubeObject } from '#lib/resources';

/** The cache is right after a moment; without it the next pass meets a conflict, no more. */
const CACHE_MS = 2_000;

/**
 * Writes the status of an object whose status has one writer, as a whole, guarded by the version that it was computed
 * from, and waits until the cache shows it, so that the next pass does not begin with an old version. No call when it
 * is so already; a deleted object needs no status.
 */
export async function replaceStatus<T extends KubeObject & { readonly status?: object }>(
  client: KubeClient,
  cache: Informer<T>,
  object: T,
  status: NonNullable<T['status']>,
): Promise<T> {
  if (jsonEquals(object.status ?? {}, status)) return object;
  try {
    const written = await client.replaceStatus<T>(cache.ref, { ...object, status });
    await cache.waitFor(written.metadata.resourceVersion ?? '', CACHE_MS).catch(() => undefined);
    return written;
  } catch (error) {
    if (isNotFound(error)) return object;
    throw error;
  }
}
