import { jsonEquals } from '#lib/json';
import { type Informer, isNotFound, KubeApiError, type KubeClient } from '#lib/kube';
import {
  findCondition,
  type KubeObject,
  type Pod,
  type PodCondition,
  type WorkloadCondition,
} from '#lib/resources';

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

/** Nothing can be made any more in a namespace that is being deleted or gone; its objects go with it, so it is no failure. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (isNotFound(error)) return error.details.kind === 'namespaces';
  return (
    error instanceof KubeApiError &&
    (error.details.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  );
}

export function podCondition(pod: Pod, type: string): PodCondition | undefined {
  return findCondition(pod.status?.conditions, type);
}

/** Neither finished nor being deleted. */
export function isPodActive(pod: Pod): boolean {
  return !isPodFinished(pod) && pod.metadata.deletionTimestamp === undefined;
}

export function isPodFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/**
 * Time at which a ready pod counts as available, in milliseconds since the epoch; undefined while it is not
 * ready.
 */
export function availableAtMs(pod: Pod, minReadySeconds: number): number | undefined {
  const ready = podCondition(pod, 'Ready');
  if (ready?.status !== 'True') return undefined;
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(ready.lastTransitionTime ?? '');
  return Number.isNaN(since) ? undefined : since + minReadySeconds * 1000;
}

export function isPodAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const atMs = availableAtMs(pod, minReadySeconds);
  return atMs !== undefined && atMs <= nowMs;
}

export type ConditionFields = Pick<WorkloadCondition, 'type' | 'status' | 'reason' | 'message'>;

/** RFC 3339 in whole seconds, as every built-in kind has it. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The list with this condition: nothing changes while status and reason are the same, else it moves to the end, as in Kubernetes. */
export function withCondition(
  conditions: readonly WorkloadCondition[],
  next: ConditionFields,
  now: string,
  times: 'update' | 'probe' | 'transition-only',
): readonly WorkloadCondition[] {
  const before = findCondition(conditions, next.type);
  if (before?.status === next.status && before.reason === next.reason && before.message === next.message)
    return conditions;
  const lastTransitionTime = before?.status === next.status ? (before.lastTransitionTime ?? now) : now;
  const extra =
    times === 'update' ? { lastUpdateTime: now } : times === 'probe' ? { lastProbeTime: now } : {};
  return [...conditions.filter(({ type }) => type !== next.type), { ...next, ...extra, lastTransitionTime }];
}

export function withoutCondition(
  conditions: readonly WorkloadCondition[],
  type: string,
): readonly WorkloadCondition[] {
  return conditions.filter((condition) => condition.type !== type);
}
