import { type Instant, parseInstant } from '#lib/time';
import type { KeyedSums } from './run-statistics-table.js';

/** Columns of the table `run_statistics`, called `s`. */
export const SUMS_COLUMNS = 's.project_id, s.hour, s.is_root, s.run_type, s.sums';

/** A row by `textTypes`. */
export interface SumsRow {
  readonly project_id: string;
  readonly hour: string;
  readonly is_root: string;
  readonly run_type: string;
  readonly sums: string;
}

/** Adds a row to those of its key; if an hour is given, to those of that one. */
export function addSumsRow(sums: KeyedSums, row: SumsRow, hour?: Instant): void {
  const key = {
    projectId: row.project_id,
    hour: hour ?? parseInstant(row.hour, { zone: 'optional' }) ?? 0n,
    isRoot: row.is_root === 't',
    runType: row.run_type,
  };
  sums.of(key).addEncoded(Buffer.from(row.sums.slice(2), 'hex'));
}
