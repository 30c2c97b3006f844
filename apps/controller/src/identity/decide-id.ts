import { createHash } from 'node:crypto';
import type { KubeClient, Reader } from '#lib/kube';
import {
  ANNOTATION,
  idOf,
  isDeleting,
  isUuid,
  keyOf,
  type KubeObject,
  type ObjectMeta,
  type ResourceRef,
} from '#lib/resources';

/** A uuid that is always the same for the same words: what is made again after a crash gets the id it had. */
export function derivedUuid(...words: readonly (string | number)[]): string {
  const hex = createHash('sha256').update(JSON.stringify(words)).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}

interface Identified {
  readonly metadata: ObjectMeta;
  /**
   * Its `id`, where the kind has one: the object is known by it from then on. Any writer of the object can
   * set the annotation.
   */
  readonly status?: object;
}

/**
 * The id that an object should get, or undefined when it may keep the one it has. An id is chosen by the api
 * or is the uid. One in the status stays. The older of two objects with one id keeps it: `get -o yaml |
 * apply` under another name must not make two resources one. An object that is being deleted still has the
 * things that belong to its id.
 */
export function decideId(object: Identified, all: readonly Identified[]): string | undefined {
  const { uid } = object.metadata;
  const given = object.metadata.annotations?.[ANNOTATION.id];
  if (uid === undefined) return undefined;
  const kept = keptId(object);
  if (kept !== undefined) return given === kept ? undefined : kept;
  if (given === undefined || !isUuid(given)) return uid;
  if (given === uid) return undefined;
  const isTaken = all.some(
    (other) => other.metadata.uid !== uid && holds(other, given.toLowerCase(), object.metadata),
  );
  return isTaken ? uid : undefined;
}

/** The id of an object, whatever its annotation says at present. */
export function ownId(object: Identified, all: readonly Identified[]): string {
  return decideId(object, all) ?? idOf(object) ?? '';
}

function holds(other: Identified, id: string, than: ObjectMeta): boolean {
  const kept = keptId(other);
  if (kept !== undefined) return kept === id;
  return idOf(other) === id && (isDeleting(other) || isOlder(other.metadata, than));
}

function keptId({ status }: Identified): string | undefined {
  return status && 'id' in status && typeof status.id === 'string' ? status.id : undefined;
}

/** Orders by creation time, and by uid in the same second, so that two readers agree. */
export function isOlder(a: ObjectMeta, b: ObjectMeta): boolean {
  const [timeA, timeB] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  return timeA === timeB ? (a.uid ?? '') < (b.uid ?? '') : timeA < timeB;
}

/**
 * Gives the object its id where it has none of its own; answers the object as it then is.
 * @param isTaken returns true when a chosen id belongs to an object that is no longer in the API server
 */
export async function ensureId<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  all: Reader<T>,
  isTaken?: (id: string) => Promise<boolean>,
): Promise<T> {
  const { uid, resourceVersion } = object.metadata;
  const chosen = idOf(object);
  const id =
    decideId(object, all.list()) ??
    (isTaken && chosen !== undefined && chosen !== uid && (await isTaken(chosen)) ? uid : undefined);
  if (id === undefined) return object;
  const annotations = { [ANNOTATION.id]: id };
  return await client.mergeMetadata(ref, keyOf(object), { uid, resourceVersion, annotations });
}
