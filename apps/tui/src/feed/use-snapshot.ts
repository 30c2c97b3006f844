import { useSyncExternalStore } from 'react';
import type { Snapshot, SnapshotFeed } from './snapshot.js';

/** The feed's current snapshot; the component renders again when it changes. */
export function useSnapshot(feed: SnapshotFeed): Snapshot {
  return useSyncExternalStore(
    (changed) => feed.subscribe(changed),
    () => feed.current,
  );
}
