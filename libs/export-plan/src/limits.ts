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

const MINUTE_MS = 60_000;

/** The interface's figures, as the architecture settled their contradictions. */
export const DEFAULT_EXPORT_LIMITS: ExportLimits = {
  retries: 20,
  retryDelayMs: 30_000,
  runTimeoutMs: 240 * MINUTE_MS,
  exportTimeoutMs: 72 * 60 * MINUTE_MS,
  concurrentRunsPerExport: 45,
  concurrentExportsPerWorkspace: 15,
};
