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
