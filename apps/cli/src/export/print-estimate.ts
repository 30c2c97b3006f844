import { EXIT } from '#lib/lifecycle';
import { resolveWindow } from '#lib/export-plan';
import { type BulkExportDestination, type BulkExportSpec, idOf } from '#lib/resources';
import type { RestClient } from '#lib/rest-client';
import { formatInstant, instantOf, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { projectIdOf } from '../rest/project-id.js';
import { type ExportEstimate, renderEstimate } from './render-estimate.js';

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
  // the resource counts as made a second ago, so that the window of `last` ends now and not in the future
  const decision = resolveWindow(wanted, instantOf(systemClock.now()) - 1_000_000n);
  if (decision.kind === 'refused') throw new CommandError('usage', decision.message);
  const { start, end } = decision.window;
  return { start_time: formatInstant(start, 'if-any'), end_time: formatInstant(end, 'if-any') };
}
