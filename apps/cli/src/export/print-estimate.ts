import { EXIT } from '#lib/lifecycle';
import { resolveWindow } from '#lib/export-plan';
import { type BulkExportDestination, type BulkExportSpec, idOf } from '#lib/resources';
import type { RestClient } from '#lib/rest-client';
import { formatInstant, instantOf, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { projectIdOf } from '../rest/project-id.js';

/** As the REST interface answers it. */
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

/** Prints what an export would have, without making it. */
export async function printEstimate(
  rest: RestClient,
  spec: BulkExportSpec,
  destination: BulkExportDestination,
): Promise<number> {
  const {
    tracingProject,
    intervalHours,
    format,
    formatVersion,
    compression,
    filter,
    exportFields,
    resources,
  } = spec;
  const { id: projectId, name: projectName = '' } = tracingProject;
  const estimate = await rest.request<ExportEstimate>('POST', '/api/v1/bulk-exports/estimate', {
    bulk_export_destination_id: idOf(destination),
    session_id: projectId ?? (await projectIdOf(rest, projectName)),
    ...windowOf(spec),
    interval_hours: intervalHours,
    format: format === 'jsonl' ? 'JSONL' : 'Parquet',
    format_version: formatVersion,
    compression,
    filter,
    export_fields: exportFields,
    resources,
  });
  process.stdout.write(renderEstimate(estimate, intervalHours));
  return EXIT.ok;
}

/** `last` is a word of the resource alone. */
function windowOf({ startTime, endTime, last, intervalHours }: BulkExportSpec): {
  readonly start_time: string | undefined;
  readonly end_time: string | undefined;
} {
  if (intervalHours !== undefined) return { start_time: startTime, end_time: undefined };
  const wanted = last === undefined ? { startTime: startTime ?? '', endTime: endTime ?? '' } : { last };
  // as of a resource that was made a second ago: its window has ended
  const decision = resolveWindow(wanted, instantOf(systemClock.now()) - 1_000_000n);
  if (decision.kind === 'refused') throw new CommandError('usage', decision.message);
  const { start, end } = decision.window;
  return { start_time: formatInstant(start, 'if-any'), end_time: formatInstant(end, 'if-any') };
}

/** Lines for people. @param intervalHours of a schedule */
function renderEstimate(estimate: ExportEstimate, intervalHours: number | undefined): string {
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
  return [
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
  ].join('\n');
}
