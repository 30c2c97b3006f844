import { ANNOTATION, idOf, isDeleting, isUuid, type ObjectMeta } from '#lib/resources';

interface Identified {
  readonly metadata: ObjectMeta;
}

/**
 * The id that an object should get, or undefined when it may keep what it has. An id is chosen by the api or is the
 * uid. Of two objects with one id the older keeps it: `get -o yaml | apply` under another name must not make two
 * resources one.
 */
export function decideId(object: Identified, all: readonly Identified[]): string | undefined {
  const { uid } = object.metadata;
  const given = object.metadata.annotations?.[ANNOTATION.id];
  if (uid === undefined) return undefined;
  if (given === undefined || !isUuid(given)) return uid;
  if (given === uid) return undefined;
  const isTaken = all.some(
    (other) =>
      other.metadata.uid !== uid &&
      !isDeleting(other) &&
      idOf(other) === given.toLowerCase() &&
      isOlder(other.metadata, object.metadata),
  );
  return isTaken ? uid : undefined;
}

/** By creation time; in the same second by uid, so that two readers agree. */
export function isOlder(a: ObjectMeta, b: ObjectMeta): boolean {
  const [timeA, timeB] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  return timeA === timeB ? (a.uid ?? '') < (b.uid ?? '') : timeA < timeB;
}
