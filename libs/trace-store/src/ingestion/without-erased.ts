import type { Connection } from '#lib/postgres';
import { findErasedTraces } from './erased-traces.js';
import type { WaitingPatch } from './waiting-patches.js';

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
  const erased = await findErasedTraces(client, tenantId, owned.map(traceOf));
  return patches.filter(
    (patch) =>
      patch.projectId === undefined || !erased.has({ projectId: patch.projectId, traceId: traceOf(patch) }),
  );
}
