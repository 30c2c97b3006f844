import { countPartitions, schedulePosition, type Window } from '#lib/export-plan';
import { type BulkExport, type BulkExportSpec, exportWireStatus } from '#lib/resources';
import { formatInstant, type Instant, instantOf, parseInstant } from '#lib/time';
import type { ExportCount } from '#lib/trace-store';
import type { ExportEstimateAnswer } from './export-answer.js';

/**
 * Minimum number of rows that earlier exports must have together: with fewer, the overhead of each file
 * counts for too much.
 */
const LEAST_ROWS = 1_000;
/** The same for their speed: of fewer, the start of the workers is most of the time. */
const LEAST_TIMED_ROWS = 10_000;

/**
 * Estimates that are used without earlier exports. Bytes of a row with zstd, measured with 300,000 calls of
 * models (397 MB of Parquet); rows a second of one worker beside other work; seconds that a run takes without
 * any rows.
 */
const DEFAULTS = { bytes: 1_300, bytesWithoutPayloads: 200, rowsPerSecond: 20_000, secondsOfRun: 2 };

/** Defaults that the API server adds to an export that does not describe its files. */
export const EXPORT_DEFAULTS = { format: 'parquet', formatVersion: 'v1', compression: 'zstd' } as const;

/** Bytes beside those of zstd, measured with the same rows. */
const COMPRESSED_TO: Readonly<Record<BulkExportSpec['compression'], number>> = {
  zstd: 1,
  gzip: 1.2,
  snappy: 2,
  none: 4,
};

/** Windows that an export covers: its own, or those of a schedule that have ended. */
export interface CoveredWindows {
  readonly window: Window;
  /** 1, or those of the schedule. */
  readonly windows: number;
  /** A UTC day of a window each. */
  readonly runs: number;
}

/** @param spec as a checked request has it */
export function coveredWindows(
  { startTime, endTime, intervalHours }: BulkExportSpec,
  now: Instant,
): CoveredWindows {
  const timeOf = (text = ''): Instant => parseInstant(text, { zone: 'required' }) ?? 0n;
  const start = timeOf(startTime);
  if (intervalHours === undefined) {
    const window = { start, end: timeOf(endTime) };
    return { window, windows: 1, runs: countPartitions(window) };
  }
  const { next, due: windows } = schedulePosition({ start, intervalHours }, start, now);
  const length = next.end - next.start;
  let runs = 0;
  for (let from = start, left = windows; left > 0; left--, from += length)
    runs += countPartitions({ start: from, end: from + length });
  return { window: { start, end: start + length * BigInt(windows) }, windows, runs };
}

/** Cost of an export by the row. */
export interface ExportFigures {
  readonly bytesPerRow: number;
  readonly rowsPerSecond: number;
  /** Earlier exports that the bytes are from; 0 for the default. */
  readonly measuredExports: number;
}

/** @param earlier exports of the project; those with other columns or files are ignored */
export function exportFigures(spec: BulkExportSpec, earlier: readonly BulkExport[]): ExportFigures {
  const alike = earlier.filter(
    (one) => exportWireStatus(one) === 'COMPLETED' && (one.status?.rows ?? 0) > 0 && isAlike(spec, one.spec),
  );
  const rows = sum(alike, ({ status }) => status?.rows);
  const bytes = sum(alike, ({ status }) => status?.bytes);
  const isMeasured = rows >= LEAST_ROWS && bytes > 0;
  return {
    bytesPerRow: isMeasured ? bytes / rows : defaultBytes(spec),
    rowsPerSecond: measuredSpeed(alike) ?? DEFAULTS.rowsPerSecond,
    measuredExports: isMeasured ? alike.length : 0,
  };
}

function isAlike(one: BulkExportSpec, other: BulkExportSpec): boolean {
  const columns = ({ exportFields }: BulkExportSpec): string => [...(exportFields ?? [])].sort().join();
  return (
    one.format === other.format && one.compression === other.compression && columns(one) === columns(other)
  );
}

function sum(exports: readonly BulkExport[], of: (one: BulkExport) => number | undefined): number {
  return exports.reduce((total, one) => total + (of(one) ?? 0), 0);
}

function measuredSpeed(exports: readonly BulkExport[]): number | undefined {
  const large = exports.filter(({ status }) => (status?.rows ?? 0) >= LEAST_TIMED_ROWS);
  const seconds = sum(large, ({ status }) =>
    Math.max(0, (Date.parse(status?.finishedAt ?? '') - Date.parse(status?.startedAt ?? '')) / 1_000 || 0),
  );
  return seconds > 0 ? sum(large, ({ status }) => status?.rows) / seconds : undefined;
}

function defaultBytes({ exportFields, compression }: BulkExportSpec): number {
  const fields: readonly string[] | undefined = exportFields;
  const hasPayloads = fields === undefined || fields.includes('inputs') || fields.includes('outputs');
  return (hasPayloads ? DEFAULTS.bytes : DEFAULTS.bytesWithoutPayloads) * COMPRESSED_TO[compression];
}

/** An estimate on the wire. */
export function renderEstimate(
  { window, windows, runs }: CoveredWindows,
  { rows, isExact }: ExportCount,
  { bytesPerRow, rowsPerSecond, measuredExports }: ExportFigures,
  now: Date,
): ExportEstimateAnswer {
  return {
    start_time: formatInstant(window.start),
    end_time: formatInstant(window.end),
    windows,
    runs,
    rows,
    // a window that has not ended gets more rows
    exact: isExact && window.end <= instantOf(now),
    bytes: Math.round(rows * bytesPerRow),
    bytes_per_row: Math.round(bytesPerRow),
    measured_exports: measuredExports,
    seconds: Math.ceil(runs * DEFAULTS.secondsOfRun + rows / rowsPerSecond),
  };
}
