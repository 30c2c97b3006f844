import { parseJson } from '#lib/json';
import type { Informer } from '#lib/kube';
import { type BulkExport, type BulkExportRun, idOf, isDeleting } from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import { isFinished } from './export-phase.js';
import type { FormerWorld, PredecessorWorld } from './decide.js';

export interface PredecessorSources {
  readonly exports: Pick<Informer<BulkExport>, 'list'>;
  readonly runs: Pick<Informer<BulkExportRun>, 'ownedBy'>;
  readonly traceStore: Pick<TraceStore, 'exportArchive' | 'exportProgress'>;
}

/** Maximum number of continuations of one export, more than users make. */
const MOST_OTHERS = 100;

/**
 * Finds the export that is continued, in the API server or in the archive, and the other exports that
 * continue it.
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
  const found = await findFormer(bulkExport, id, tenantId, { exports, runs, traceStore });
  // only what is settled is archived
  if (!found.isLive) return { ...found, others: all, isSettled: true };
  const isSettled = found.runs.every(isFinished) && (await isCleared(found.runs, traceStore));
  return { ...found, others: all, isSettled };
}

/**
 * The export whose late runs an export has, in the API server or in the archive.
 * @returns undefined for an export of no late runs
 */
export async function findLateOf(
  bulkExport: BulkExport,
  tenantId: string,
  sources: PredecessorSources,
): Promise<FormerWorld | undefined> {
  const id = bulkExport.spec.lateRunsOf?.id.toLowerCase();
  return id === undefined ? undefined : await findFormer(bulkExport, id, tenantId, sources);
}

async function findFormer(
  { metadata: { namespace } }: BulkExport,
  id: string,
  tenantId: string,
  { exports, runs, traceStore: { exportArchive } }: PredecessorSources,
): Promise<{
  readonly bulkExport: BulkExport | undefined;
  readonly runs: readonly BulkExportRun[];
  readonly isLive: boolean;
}> {
  const live = exports.list(namespace).find((one) => idOf(one)?.toLowerCase() === id && !isDeleting(one));
  if (live) return { bulkExport: live, runs: runs.ownedBy(live), isLive: true };
  const found = await exportArchive.find(tenantId, id);
  if (!found) return { bulkExport: undefined, runs: [], isLive: false };
  const kept = await exportArchive.runs(tenantId, id);
  return {
    bulkExport: parseJson(found.object) as BulkExport,
    runs: kept.map(({ object }) => parseJson(object) as BulkExportRun),
    isLive: false,
  };
}

/** True when the last attempts of these runs have left nothing to be cleared away. */
export async function isCleared(
  runs: readonly BulkExportRun[],
  { exportProgress }: Pick<TraceStore, 'exportProgress'>,
): Promise<boolean> {
  const progress = await exportProgress.list(runs.map(({ metadata: { uid = '' } }) => uid));
  return [...progress.values()].every(({ state, intent }) => state !== 'cancelled' || !intent);
}
