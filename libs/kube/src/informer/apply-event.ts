import { keyOf, keyText, type KubeObject } from '#lib/resources';
import { compareVersions } from './resource-version.js';
import type { Change, Store } from './store.js';

/**
 * Brings a listed, added or modified object into the store and says what that means to readers. Events come twice after
 * a reconnect, so an event about a version that the store has, or an older one, changes nothing; a list is the truth
 * even where its versions are older (the server's data was restored). Another uid under the same name is the end of one
 * object and the beginning of another.
 */
export function applySeen<T extends KubeObject>(
  store: Store<T>,
  object: T,
  seenIn: 'list' | 'watch',
): readonly Change<T>[] {
  const before = store.find(keyOf(object));
  if (!before) {
    store.put(object);
    return [{ kind: 'added', object }];
  }
  const order = compareVersions(versionOf(object), versionOf(before));
  if (seenIn === 'list' ? order === 0 : order <= 0) return [];
  store.put(object);
  if (before.metadata.uid !== object.metadata.uid)
    return [
      { kind: 'deleted', object: before },
      { kind: 'added', object },
    ];
  return [{ kind: 'changed', object, before }];
}

/** Takes a deleted object out of the store, unless the event is about an earlier one of the same name. */
export function applyDeleted<T extends KubeObject>(store: Store<T>, object: T): readonly Change<T>[] {
  const key = keyText(keyOf(object));
  const before = store.findByText(key);
  if (!before || before.metadata.uid !== object.metadata.uid) return [];
  store.remove(key);
  return [{ kind: 'deleted', object }];
}

/** Removes objects that a complete list does not contain: they were deleted while no watch was open. */
export function applyAbsent<T extends KubeObject>(
  store: Store<T>,
  listed: ReadonlySet<string>,
): readonly Change<T>[] {
  const changes: Change<T>[] = [];
  for (const key of store.keys()) {
    if (listed.has(key)) continue;
    const object = store.findByText(key);
    store.remove(key);
    if (object) changes.push({ kind: 'deleted', object });
  }
  return changes;
}

function versionOf(object: KubeObject): string {
  return object.metadata.resourceVersion ?? '';
}
