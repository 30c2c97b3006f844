import { jsonEquals } from '#lib/json';
import {
  conflict,
  dropUndefined,
  type KubeObject,
  listAt,
  numberAt,
  type ObjectMeta,
  type ResourceType,
  textAt,
  timestamp,
} from '#lib/kube-semantics';
import type { Decision } from '../store/object-store.js';
import type { DeleteOptions } from './write-options.js';

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';
/** Maximum grace. A spec may have any number; a time farther ahead cannot be written down. */
const MAX_GRACE_SECONDS = 2 ** 31 - 1;
const DEFAULT_POD_GRACE_SECONDS = 30;

/**
 * Effect of a DELETE on an object. It is removed at once when nothing holds it; a Pod that runs gets its
 * grace period, an object with finalizers a deletionTimestamp, a Namespace the phase Terminating. Deleting it
 * again can only shorten the grace.
 */
export function decideDeletion(
  type: ResourceType,
  object: KubeObject,
  options: DeleteOptions,
  now: Date,
): Decision {
  checkPreconditions(type, object, options);
  if (type.group === '' && type.resource === 'namespaces') return decideNamespace(object, now);
  const finalizers = collectorFinalizers(object.metadata.finalizers ?? [], options);
  const grace = type.group === '' && type.resource === 'pods' ? podGrace(object, options) : 0;
  const isMarked = object.metadata.deletionTimestamp !== undefined;
  if (finalizers.length === 0 && grace === 0) return { kind: 'delete', object };
  const metadata = isMarked
    ? shortenedGrace(object.metadata, grace, now)
    : {
        ...object.metadata,
        deletionTimestamp: timestamp(new Date(now.getTime() + grace * 1000)),
        deletionGracePeriodSeconds: grace,
        generation: nextGeneration(object.metadata),
      };
  const next = {
    ...object,
    metadata: dropUndefined({ ...metadata, finalizers: finalizers.length > 0 ? finalizers : undefined }),
  };
  return jsonEquals(next, object) ? { kind: 'keep' } : { kind: 'put', object: next };
}

/** True when nothing holds an object any more that is being deleted, so that an update of it removes it. */
export function isReleased(object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers?.length ?? 0) > 0) return false;
  if (object.kind === 'Namespace') return listAt(object, 'spec', 'finalizers').length === 0;
  return (deletionGracePeriodSeconds ?? 0) === 0;
}

function checkPreconditions(
  type: ResourceType,
  { metadata }: KubeObject,
  { uid, resourceVersion }: DeleteOptions,
): void {
  const of = { group: type.group, resource: type.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid ?? ''}). The object might have been deleted and then recreated`;
    throw conflict(of, metadata.name ?? '', why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion ?? ''}). The object might have been modified`;
    throw conflict(of, metadata.name ?? '', why);
  }
}

function decideNamespace(namespace: KubeObject, now: Date): Decision {
  if (namespace.metadata.deletionTimestamp !== undefined) {
    return isReleased(namespace) ? { kind: 'delete', object: namespace } : { kind: 'keep' };
  }
  const held =
    (namespace.metadata.finalizers ?? []).length + listAt(namespace, 'spec', 'finalizers').length > 0;
  if (!held) return { kind: 'delete', object: namespace };
  const metadata = { ...namespace.metadata, deletionTimestamp: timestamp(now) };
  return { kind: 'put', object: { ...namespace, metadata, status: { phase: 'Terminating' } } };
}

/** The finalizers, with those that instruct the garbage collector about dependents. */
function collectorFinalizers(
  current: readonly string[],
  { propagationPolicy }: DeleteOptions,
): readonly string[] {
  const isOrphan =
    propagationPolicy === undefined ? current.includes(ORPHAN) : propagationPolicy === 'Orphan';
  const isForeground =
    propagationPolicy === undefined ? current.includes(FOREGROUND) : propagationPolicy === 'Foreground';
  const own = current.filter((finalizer) => finalizer !== ORPHAN && finalizer !== FOREGROUND);
  return [...own, ...(isOrphan ? [ORPHAN] : []), ...(isForeground ? [FOREGROUND] : [])];
}

function podGrace(pod: KubeObject, { gracePeriodSeconds }: DeleteOptions): number {
  const phase = textAt(pod, ['status', 'phase']);
  if (textAt(pod, ['spec', 'nodeName']) === '' || phase === 'Failed' || phase === 'Succeeded') return 0;
  const own = numberAt(pod, ['spec', 'terminationGracePeriodSeconds'], DEFAULT_POD_GRACE_SECONDS);
  const current = pod.metadata.deletionGracePeriodSeconds;
  const asked = gracePeriodSeconds ?? current ?? own;
  return asked < 0 ? 1 : Math.min(asked, current ?? asked, MAX_GRACE_SECONDS);
}

function shortenedGrace(metadata: ObjectMeta, grace: number, now: Date): ObjectMeta {
  const current = metadata.deletionGracePeriodSeconds ?? 0;
  if (grace >= current) return metadata;
  const began = Date.parse(metadata.deletionTimestamp ?? '') - current * 1000;
  const ends = began + grace * 1000;
  const isOver = ends < now.getTime();
  return {
    ...metadata,
    deletionTimestamp: timestamp(isOver ? now : new Date(ends)),
    deletionGracePeriodSeconds: isOver && grace !== 0 ? 1 : grace,
  };
}

function nextGeneration({ generation }: ObjectMeta): number | undefined {
  return generation === undefined ? undefined : generation + 1;
}
