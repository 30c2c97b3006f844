import { visibleText } from '#lib/command-line';

/** Estimate in the form of the REST interface. */
export interface ExportEstimate {
  readonly start_time: string;
  readonly end_time: string;
  readonly windows: number;
  readonly runs: number;
  readonly rows: number;
  readonly exact: boolean;
  readonly bytes: number;
  readonly bytes_per_row: number;
  readonly measured_exports: number;
  readonly seconds: number;
}

/** Lines for people. @param intervalHours of a schedule */
export function renderEstimate(estimate: ExportEstimate, intervalHours: number | undefined): string {
  const {
    start_time: start,
    end_time: end,
    runs,
    windows,
    rows,
    exact,
    measured_exports: measured,
  } = estimate;
  const origin =
    measured === 0 ? 'a default' : `measured by ${measured} earlier export${measured === 1 ? '' : 's'}`;
  const lines = [
    `nothing was created`,
    `window  ${start} to ${end}`,
    ...(intervalHours === undefined
      ? []
      : [`windows ${windows} of ${intervalHours} h that have ended, an export each`]),
    `runs    ${runs}, a UTC day each`,
    `rows    ${exact ? rows : `about ${rows}`}`,
    `bytes   about ${estimate.bytes} (${estimate.bytes_per_row} a row, ${origin})`,
    `time    about ${estimate.seconds} s`,
    '',
  ];
  return visibleText(lines.join('\n'));
}
