import type { Instant } from '#lib/time';
import type { ExportWindow } from './export-source.js';

/** Number of rows that an export of a window would have. */
export interface ExportCount {
  readonly rows: number;
  /** False when the number was estimated because counting took too long. */
  readonly isExact: boolean;
}

/** The window of a run of an export, by whose mark rows are late. */
export interface ExportedWindow extends ExportWindow {
  readonly runUid: string;
}

/** Rows that came or changed after a run of an export had begun. */
export interface LateCount {
  readonly rows: number;
  /** First of their start times; undefined without rows. */
  readonly first: Instant | undefined;
  readonly last: Instant | undefined;
}

/** Why nothing is known of late rows: counting took too long, or the run has no mark that means anything here. */
export type UnknownLate = 'too long' | 'no mark';

export interface ExportCounts {
  /**
   * Counts late rows of runs of one tenant, within five seconds together, the last ones first.
   * @returns one for each, in their order
   */
  countLate(windows: readonly ExportedWindow[]): Promise<readonly (LateCount | UnknownLate)[]>;
  /**
   * Counts the current runs of a window, within a few seconds: from the statistics by hour, with a filter by
   * reading the runs, and if these are too many for that, from a sample.
   */
  count(window: ExportWindow): Promise<ExportCount>;
}
