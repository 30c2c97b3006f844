import { type BulkExport, CONDITION, findCondition, isConditionTrue, REASON } from '#lib/resources';

/** Limits of exports; each is configuration. */
export interface ExportLimits {
  /** Retries after the first attempt of a run. */
  readonly retries: number;
  /** Fixed pause between two attempts of a run, milliseconds. */
  readonly retryDelayMs: number;
  /** Longest time of one attempt, milliseconds. */
  readonly runTimeoutMs: number;
  /** Longest time of a whole export, milliseconds. */
  readonly exportTimeoutMs: number;
  readonly concurrentRunsPerExport: number;
  readonly concurrentExportsPerWorkspace: number;
  /** Runs at work at a time, of all workspaces together; undefined: as many as the limits above allow. */
  readonly concurrentRuns?: number;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The interface's figures, as the architecture settled their contradictions. */
export const DEFAULT_EXPORT_LIMITS: ExportLimits = {
  retries: 20,
  retryDelayMs: 30_000,
  runTimeoutMs: 240 * MINUTE_MS,
  exportTimeoutMs: 72 * 60 * MINUTE_MS,
  concurrentRunsPerExport: 45,
  concurrentExportsPerWorkspace: 15,
};

/** A limit in milliseconds as messages name it: `72 h`, `90 min`, `15 s`, in the largest unit that leaves no rest. */
export function renderLimit(ms: number): string {
  if (ms % HOUR_MS === 0) return `${ms / HOUR_MS} h`;
  if (ms % MINUTE_MS === 0) return `${ms / MINUTE_MS} min`;
  return ms % SECOND_MS === 0 ? `${ms / SECOND_MS} s` : `${ms} ms`;
}

/** True when the one export was made before the other; within a second the name decides. */
export function isOlder(one: BulkExport, other: BulkExport): boolean {
  const [a, b] = [one.metadata.creationTimestamp ?? '', other.metadata.creationTimestamp ?? ''];
  return a < b || (a === b && one.metadata.name < other.metadata.name);
}

/** True when an export waits for others of its workspace to end. */
export function isQueued({ status }: Pick<BulkExport, 'status'>): boolean {
  const conditions = status?.conditions;
  return (
    findCondition(conditions, CONDITION.accepted)?.reason === REASON.queued &&
    (status?.runs?.total ?? 0) === 0 &&
    !hasEnded(conditions)
  );
}

function hasEnded(conditions: Parameters<typeof isConditionTrue>[0]): boolean {
  return isConditionTrue(conditions, CONDITION.completed) || isConditionTrue(conditions, CONDITION.failed);
}

/**
 * Positions of the queued exports of a workspace, from 1, by name. Computed on request: noted in each status,
 * every end of an export would be a write for each that waits.
 */
export function queuePositions(ofWorkspace: readonly BulkExport[]): ReadonlyMap<string, number> {
  const queued = ofWorkspace.filter(isQueued).sort((a, b) => (isOlder(a, b) ? -1 : 1));
  return new Map(queued.map(({ metadata }, at) => [metadata.name, at + 1]));
}
