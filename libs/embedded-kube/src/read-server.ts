import { metrics } from '#lib/telemetry';
import type { ObjectStore } from './store/object-store.js';
import type { WatchHub } from './watch/watch-hub.js';

/** Lets a scrape read the server's watches and the length of its change log. @returns ends the reading */
export function readServer(store: ObjectStore, hub: WatchHub): () => void {
  const ends = [
    metrics.kubeWatches.read(() => hub.size),
    metrics.kubeChangeLog.read(() => store.history.length),
  ];
  return () => {
    for (const end of ends) end();
  };
}
