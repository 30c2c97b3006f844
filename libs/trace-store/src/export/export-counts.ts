import type { ExportWindow } from './export-source.js';

/** How many rows an export of a window would have. */
export interface ExportCount {
  readonly rows: number;
  /** False for what was estimated because counting took too long. */
  readonly isExact: boolean;
}

export interface ExportCounts {
  /**
   * Counts the runs of a window as they are now, within a few seconds: from the statistics by hour, with a filter by
   * looking at the runs, and where these are too many for that, from a sample.
   */
  count(window: ExportWindow): Promise<ExportCount>;
}
