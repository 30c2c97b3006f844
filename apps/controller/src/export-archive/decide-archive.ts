import {
  type BulkExport,
  type BulkExportRun,
  CONDITION,
  findCondition,
  isDeleting,
  type Workspace,
} from '#lib/resources';
import { isFinished } from '../bulk-export/export-phase.js';
import { isHeld } from '../export-webhook/decide-webhook.js';

const HOUR_MS = 3_600_000;

/** The lower of the platform's history and the workspace's. */
export function historyOf(platform: ExportHistory, { spec }: Workspace): ExportHistory {
  const hours = spec.limits?.exportHistoryHours;
  return hours === undefined ? platform : { ...platform, keptMs: Math.min(platform.keptMs, hours * HOUR_MS) };
}

/** Limits of age and number for ended exports in the API server. */
export interface ExportHistory {
  /** Milliseconds from the end of an export. */
  readonly keptMs: number;
  /** Maximum number per workspace; beyond it the oldest are archived before their time. */
  readonly keptExports: number;
}

/** Everything that the archiving of one export depends on. */
export interface ArchiveWorld {
  readonly bulkExport: BulkExport;
  readonly runs: readonly BulkExportRun[];
  /** Every export of the workspace, itself included. */
  readonly siblings: readonly BulkExport[];
  readonly history: ExportHistory;
  /** True when its runs have nothing left in the bucket to be cleared away, which needs the runs' objects. */
  readonly isSettled: boolean;
  /** The database's clock. */
  readonly now: Date;
}

export type ArchiveDecision =
  /** It has not ended, or its end is looked at again when a run ends. */
  | { readonly kind: 'keep' }
  /** It is looked at again after `ms`. */
  | { readonly kind: 'later'; readonly ms: number }
  | { readonly kind: 'archive' };

/** A timer of weeks would overflow. */
const LONGEST_MS = 3_600_000;
/** Requeue delay while leftovers of runs are cleared away, which a tick does. */
const SETTLING_LOOK_MS = 60_000;

/** End of an export in milliseconds; the epoch when it is not recorded. */
function endedAtMs({ status }: Pick<BulkExport, 'status'>): number {
  const condition = [CONDITION.completed, CONDITION.failed]
    .map((type) => findCondition(status?.conditions, type))
    .find((one) => one?.status === 'True');
  return Date.parse(status?.finishedAt ?? condition?.lastTransitionTime ?? '') || 0;
}

/** The ended exports of a workspace that are more than are kept, oldest first. */
export function beyondHistory(siblings: readonly BulkExport[], keptExports: number): readonly BulkExport[] {
  const ended = siblings.filter((one) => isFinished(one) && !isDeleting(one));
  const beyond = ended.length - keptExports;
  if (beyond <= 0) return [];
  return ended
    .map((one) => ({ one, endedMs: endedAtMs(one) }))
    .sort((a, b) => a.endedMs - b.endedMs || (a.one.metadata.name < b.one.metadata.name ? -1 : 1))
    .slice(0, beyond)
    .map(({ one }) => one);
}

/** Decides whether an export goes to the archive. Pure: the same world gives the same answer. */
export function decideArchive(world: ArchiveWorld): ArchiveDecision {
  const { bulkExport, runs, siblings, history, isSettled, now } = world;
  // the runs of an export that was cancelled or failed end after it, and what they wrote last belongs into the archive
  if (!isFinished(bulkExport) || isDeleting(bulkExport) || !runs.every((run) => isFinished(run)))
    return { kind: 'keep' };
  const leftMs = endedAtMs(bulkExport) + history.keptMs - now.getTime();
  if (leftMs > 0 && !isPushedOut(world)) return { kind: 'later', ms: Math.min(leftMs, LONGEST_MS) };
  if (isHeld(bulkExport, siblings)) return { kind: 'later', ms: SETTLING_LOOK_MS };
  return isSettled ? { kind: 'archive' } : { kind: 'later', ms: SETTLING_LOOK_MS };
}

function isPushedOut({ bulkExport, siblings, history }: ArchiveWorld): boolean {
  const { uid } = bulkExport.metadata;
  return beyondHistory(siblings, history.keptExports).some(({ metadata }) => metadata.uid === uid);
}
