import { parseJson } from '#lib/json';
import type { Informer } from '#lib/kube';
import { type BulkExport, type BulkExportRun, idOf, isDeleting } from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import { isFinished } from './export-phase.js';
import type { PredecessorWorld } from './world.js';

export interface PredecessorSources {
  readonly exports: Pick<Informer<BulkExport>, 'list'>;
  readonly runs: Pick<Informer<BulkExportRun>, 'ownedBy'>;
  readonly traceStore: Pick<TraceStore, 'exportArchive' | 'exportProgress'>;
}

/** More continuations of one export than anybody makes. */
const MOST_OTHERS = 100;

/**
 * What an export continues, in the API server or in the archive, and what else continues the same.
 * @returns undefined for an export that continues none
 */
export async function findPredecessor(
  bulkExport: BulkExport,
  tenantId: string,
  { exports, runs, traceStore }: PredecessorSources,
): Promise<PredecessorWorld | undefined> {
  const id = bulkExport.spec.continues?.id.toLowerCase();
  if (id === undefined) return undefined;
  const ofWorkspace = exports.list(bulkExport.metadata.namespace);
  const others = ofWorkspace.filter(
    (one) => one.metadata.uid !== bulkExport.metadata.uid && one.spec.continues?.id.toLowerCase() === id,
  );
  const search = {
    continuesId: id,
    except: others.map((one) => idOf(one) ?? ''),
    offset: 0,
    limit: MOST_OTHERS,
  };
  const archived = await traceStore.exportArchive.list(tenantId, search);
  const all = [...others, ...archived.map(({ object }) => parseJson(object) as BulkExport)];
  const live = ofWorkspace.find((one) => idOf(one)?.toLowerCase() === id && !isDeleting(one));
  if (!live) {
    const found = await traceStore.exportArchive.find(tenantId, id);
    if (!found) return { bulkExport: undefined, runs: [], others: all, isSettled: true };
    const kept = await traceStore.exportArchive.runs(tenantId, id);
    const parsed = kept.map(({ object }) => parseJson(object) as BulkExportRun);
    // only what is settled is archived
    return { bulkExport: parseJson(found.object) as BulkExport, runs: parsed, others: all, isSettled: true };
  }
  const owned = runs.ownedBy(live);
  return {
    ...{ bulkExport: live, runs: owned, others: all },
    isSettled: owned.every(isFinished) && (await isCleared(owned, traceStore)),
  };
}

/** Whether nothing is left to be cleared away of what the last attempts of these runs wrote. */
export async function isCleared(
  runs: readonly BulkExportRun[],
  { exportProgress }: Pick<TraceStore, 'exportProgress'>,
): Promise<boolean> {
  const progress = await exportProgress.list(runs.map(({ metadata: { uid = '' } }) => uid));
  return [...progress.values()].every(({ state, intent }) => state !== 'cancelled' || !intent);
}
