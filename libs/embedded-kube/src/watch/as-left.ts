import { CommittedObject, type StoredChange, type StoredObject } from '../store/stored-object.js';

/**
 * Made once for all watches that an object leaves by the same change, which are told of it one after the other: one may
 * take 35 ms to print. That of the last change alone: changes are kept for minutes.
 */
let last: { readonly change: StoredChange; readonly left: StoredObject } | undefined;

/** Object that leaves the selection of a watch: how it last matched, with the revision of the change. */
export function asLeft(change: StoredChange): StoredObject {
  if (last?.change !== change)
    last = { change, left: atRevision(change.before ?? change.after, change.after.revision) };
  return last.left;
}

function atRevision({ object }: StoredObject, revision: number): StoredObject {
  const shown = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
  return new CommittedObject(JSON.stringify(shown), revision, shown);
}
