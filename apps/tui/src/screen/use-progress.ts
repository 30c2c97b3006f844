import { useEffect, useMemo } from 'react';
import type { Clock } from '#lib/time';
import { type BulkExport, RESOURCES } from '#lib/resources';
import { ProgressMemory } from '../rows/progress-memory.js';
import type { World } from '../world/items.js';

/** Memory of how exports and their runs grow, from the moment a namespace is looked at. */
export function useProgress(world: World, namespace: string | undefined, clock: Clock): ProgressMemory {
  const memory = useMemo(() => new ProgressMemory(), [world, namespace]);
  useEffect(() => {
    const ends = [RESOURCES.BulkExport, RESOURCES.BulkExportRun].map((ref) =>
      world.itemsOf({ kind: 'kube', ref }, namespace).on((change) => {
        const { status } = change.object as BulkExport;
        const { rows = 0, bytes = 0, percent = 0 } = status ?? {};
        memory.record(change, { rows, bytes, percent }, clock.monotonicMs());
      }),
    );
    return () => ends.forEach((end) => end());
  }, [world, namespace, memory, clock]);
  return memory;
}
