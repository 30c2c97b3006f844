import { createHash } from 'node:crypto';
import { TerminalError } from '#lib/errors';
import { jsonContains } from '#lib/json';
import {
  ANNOTATION,
  keyOf,
  type KubeObject,
  type ObjectMeta,
  REASON,
  type ResourceRef,
} from '#lib/resources';
import type { KubeClient, Untyped } from '../client/kube-client.js';
import type { Applied } from '../client/request-options.js';

import { belongsTo, type ManagingOwner, ownedMetadata } from './managing-owner.js';

export interface ManagedChild<T extends KubeObject> {
  readonly ref: ResourceRef<T>;
  /** The desired object: name, labels, spec; all fields that we own and no others. */
  readonly desired: Applied<T>;
  /** The observed object, from the cache; when undefined, the server is asked before the child is made. */
  readonly existing: T | undefined;
}

/**
 * Makes a child what it should be, by server-side apply under our field manager, owned by reference or by label. No call
 * is made when the same configuration was applied last (by its hash, so that a dropped field is seen) and no field of it
 * has changed since. Fields that `desired` does not name stay with their other writers.
 * @throws TerminalError `NotOurs` when the object of that name belongs to another owner
 */
export async function applyManaged<T extends KubeObject = Untyped>(
  client: KubeClient,
  owner: ManagingOwner,
  child: ManagedChild<T>,
): Promise<T> {
  const { ref, desired } = child;
  const hash = createHash('sha256').update(JSON.stringify(desired)).digest('hex').slice(0, 32);
  const annotations = { ...desired.metadata.annotations, [ANNOTATION.applied]: hash };
  const metadata: Partial<ObjectMeta> & { readonly name: string } = ownedMetadata(
    { ...desired.metadata, annotations },
    owner,
  );
  const applied = { ...desired, metadata };
  // apply would take over an object of another owner that a lagging cache, or one that selects by our labels, hides
  const existing = child.existing ?? (await client.find<T>(ref, keyOf({ metadata })));
  if (existing) {
    if (!belongsTo(existing, owner))
      throw new TerminalError(
        REASON.notOurs,
        `${ref.kind} ${metadata.name} exists and belongs to another owner; rename or delete it`,
      );
    if (jsonContains(applied, existing)) return existing;
  }
  return await client.apply<T>(ref, applied);
}
