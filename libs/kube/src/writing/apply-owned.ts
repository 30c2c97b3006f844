import { createHash } from 'node:crypto';
import { controllerReference, isOwnedBy } from '#lib/reconcile';
import { TerminalError } from '#lib/errors';
import { jsonContains } from '#lib/json';
import { ANNOTATION, keyOf, type KubeObject, type ObjectMeta, type ResourceRef } from '#lib/resources';
import type { KubeClient, Untyped } from '../client/kube-client.js';
import type { Applied } from '../client/request-options.js';

export interface OwnedChild<T extends KubeObject> {
  readonly ref: ResourceRef<T>;
  /** What it should be: name, labels, spec; all fields that we own and no others. */
  readonly desired: Applied<T>;
  /** What it is, from the cache; undefined when the cache has none, and then the server is asked before it is made. */
  readonly existing: T | undefined;
}

export interface Owner {
  readonly ref: ResourceRef;
  readonly object: KubeObject;
}

/**
 * Makes a child what it should be, by server-side apply under our field manager, with a controller reference to its
 * owner. No call when it is so already: the same configuration was applied last (by its hash, so that a dropped field is
 * seen) and nobody changed a field of it since.
 * @throws TerminalError `NotOurs` when an object of that name belongs to somebody else
 */
export async function applyOwned<T extends KubeObject = Untyped>(
  client: KubeClient,
  owner: Owner,
  child: OwnedChild<T>,
): Promise<T> {
  const { ref, desired } = child;
  const reference = controllerReference(owner.ref, owner.object);
  const hash = createHash('sha256').update(JSON.stringify(desired)).digest('hex').slice(0, 32);
  const metadata: Partial<ObjectMeta> & { readonly name: string } = {
    ...desired.metadata,
    annotations: { ...desired.metadata.annotations, [ANNOTATION.applied]: hash },
    ownerReferences: [reference],
  };
  const applied = { ...desired, metadata };
  // a cache that lags, or that selects by our labels, must not hide an object of somebody else: apply would take it over
  const existing = child.existing ?? (await client.find<T>(ref, keyOf({ metadata })));
  if (existing) {
    if (!isOwnedBy(existing, owner.object))
      throw new TerminalError(
        'NotOurs',
        `${ref.kind} ${metadata.name} exists and belongs to somebody else: rename or remove it`,
      );
    if (jsonContains(applied, existing)) return existing;
  }
  return await client.apply<T>(ref, applied);
}
