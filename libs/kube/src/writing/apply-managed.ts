import { createHash } from 'node:crypto';
import { TerminalError, unless } from '#lib/errors';
import { jsonContains } from '#lib/json';
import { controllerReference, hasFinalizer, isOwnedBy } from '#lib/reconcile';
import {
  ANNOTATION,
  keyOf,
  type KubeObject,
  LABEL,
  type ObjectMeta,
  REASON,
  type ResourceRef,
} from '#lib/resources';
import { isNotFound } from '../client/kube-api-error.js';
import type { KubeClient, Untyped } from '../client/kube-client.js';
import type { Applied } from '../client/request-options.js';

/**
 * The object that a child is made for, and how the child shows it.
 *
 * - **reference**: an owner reference, inside one namespace; the cluster's garbage collector removes the child
 * - **label**: the owner's uid in `agentplane.dev/owner`, across namespaces and clusters, where an owner reference would
 *   make the garbage collector remove the child at once. The finalizer keeps the owner until `deleteManaged` has removed
 *   its children, so the owner must carry it before the first child is made
 */
export type ManagingOwner =
  | { readonly kind: 'reference'; readonly ref: ResourceRef; readonly object: KubeObject }
  | { readonly kind: 'label'; readonly object: KubeObject; readonly finalizer: string };

/** True when the object was made for this owner. */
export function belongsTo(object: KubeObject, owner: ManagingOwner): boolean {
  switch (owner.kind) {
    case 'reference':
      return isOwnedBy(object, owner.object);
    case 'label':
      return object.metadata.labels?.[LABEL.owner] === uidOf(owner.object);
    default:
      return owner satisfies never;
  }
}

/** The metadata by which a child shows its owner, added to its own. */
function ownedMetadata<T extends Partial<ObjectMeta>>(metadata: T, owner: ManagingOwner): T {
  switch (owner.kind) {
    case 'reference':
      return { ...metadata, ownerReferences: [controllerReference(owner.ref, owner.object)] };
    case 'label':
      if (!hasFinalizer(owner.object, owner.finalizer))
        throw new Error(`${owner.object.metadata.name} has no finalizer ${owner.finalizer} to keep it`);
      return { ...metadata, labels: { ...metadata.labels, [LABEL.owner]: uidOf(owner.object) } };
    default:
      return owner satisfies never;
  }
}

/** Selects the children of an owner by label. */
function managedSelector(owner: Extract<ManagingOwner, { readonly kind: 'label' }>): string {
  return `${LABEL.owner}=${uidOf(owner.object)}`;
}

function uidOf({ metadata }: KubeObject): string {
  if (metadata.uid === undefined)
    throw new Error(`${metadata.name} has no uid: only stored objects can own others`);
  return metadata.uid;
}

/**
 * Deletes the children of an owner by label in one namespace, of one kind. Answers whether none is left: only when none
 * of any kind is may the owner's finalizer come off.
 */
export async function deleteManaged(
  client: KubeClient,
  owner: Extract<ManagingOwner, { readonly kind: 'label' }>,
  namespace: string,
  ref: ResourceRef,
): Promise<boolean> {
  const { items } = await client.list(ref, { namespace, labelSelector: managedSelector(owner) });
  for (const { metadata } of items)
    if (metadata.deletionTimestamp === undefined)
      await client.delete(ref, keyOf({ metadata }), metadata.uid === undefined ? {} : { uid: metadata.uid });
  return items.length === 0;
}

/** Puts a finalizer on, before anything outside is made. Conflict when the object changed since it was read. */
export async function addFinalizer<T extends KubeObject = Untyped>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  if (hasFinalizer(object, finalizer)) return object;
  return await write(client, ref, object, [...(object.metadata.finalizers ?? []), finalizer]);
}

/** Takes a finalizer off, after everything is released; which may end the object. */
export async function removeFinalizer<T extends KubeObject = Untyped>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  finalizer: string,
): Promise<void> {
  if (!hasFinalizer(object, finalizer)) return;
  const others = object.metadata.finalizers?.filter((name) => name !== finalizer) ?? [];
  await write(client, ref, object, others).catch(unless(isNotFound));
}

/** The list is replaced as a whole, so the version it was computed from must still be the present one. */
async function write<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  finalizers: readonly string[],
): Promise<T> {
  const { resourceVersion, uid } = object.metadata;
  return await client.mergeMetadata(ref, keyOf(object), { resourceVersion, uid, finalizers });
}

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
