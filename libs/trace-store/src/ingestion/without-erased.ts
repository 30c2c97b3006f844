import type { Connection } from '#lib/postgres';
import { findErasedTraces } from './erased-traces.js';
import type { RunPlace } from '../run/run-place.js';
import { firstOf, type RunGroup } from './run-group.js';
import type { WaitingPatch } from './waiting-patches.js';

/** Runs to be made whose trace, or whose thread, was not deleted. */
export async function openingsWithoutErased<T extends { readonly group: RunGroup; readonly place: RunPlace }>(
  client: Connection,
  tenantId: string,
  opening: readonly T[],
): Promise<readonly T[]> {
  const runs = opening.map(({ group, place }) => ({ ...place, threadId: firstOf(group, 'threadId') }));
  if (runs.length === 0) return opening;
  const erased = await findErasedTraces(
    client,
    tenantId,
    runs.map(({ traceId }) => traceId),
    runs.flatMap(({ threadId }) => threadId ?? []),
  );
  return opening.filter((_one, at) => {
    const run = runs[at];
    return run === undefined || !erased.has(run);
  });
}

/**
 * Updates of unknown runs that may wait. One that may reach any project is not known to be of a deleted trace: it ends
 * by age.
 */
export async function patchesWithoutErased<T extends WaitingPatch>(
  client: Connection,
  tenantId: string,
  patches: readonly T[],
): Promise<readonly T[]> {
  const traceOf = ({ traceId, runId }: T): string => traceId ?? runId;
  const owned = patches.filter(({ projectId }) => projectId !== undefined);
  if (owned.length === 0) return patches;
  const erased = await findErasedTraces(client, tenantId, owned.map(traceOf), []);
  return patches.filter(
    (patch) =>
      patch.projectId === undefined || !erased.has({ projectId: patch.projectId, traceId: traceOf(patch) }),
  );
}
