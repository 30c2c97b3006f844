import type { StoredChange, StoredObject } from '../store/stored-object.js';

/** Made once for all watches that an object leaves by the same change: one may take 35 ms to print. */
const LEFT = new WeakMap<StoredChange, StoredObject>();

/** What a watch shows of an object that leaves its selection: how it last matched, with the revision of the change. */
export function asLeft(change: StoredChange): StoredObject {
  const known = LEFT.get(change) ?? atRevision(change.before ?? change.after, change.after.revision);
  LEFT.set(change, known);
  return known;
}

function atRevision({ object }: StoredObject, revision: number): StoredObject {
  const shown = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
  return { object: shown, json: JSON.stringify(shown), revision };
}
