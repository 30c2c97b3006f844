import { useSyncExternalStore } from 'react';
import type { World } from '../world/items.js';

/** Renders again when the world has changed; the number grows. */
export function useWorld(world: World): number {
  return useSyncExternalStore(
    (changed) => world.subscribe(changed),
    () => world.revision,
  );
}
