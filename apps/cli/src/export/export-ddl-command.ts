import { partitionFolder } from '#lib/export-plan';
import { EXIT } from '#lib/lifecycle';
import { RestClient } from '#lib/rest-client';
import { EXPORT_COLUMNS } from '#lib/trace-store';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { print } from '../output/print-items.js';
import { type DestinationAnswer, exportIdOf, scheduleAdvice } from './export-id.js';
import { DDL_ENGINES, type DdlEngine } from './ddl-engine.js';
import { renderDdl } from './render-ddl.js';

export interface ExportDdlFlags extends TargetFlags {
  readonly for: DdlEngine | undefined;
}

interface ExportAnswer {
  readonly id: string;
  readonly tenant_id: string;
  readonly session_id: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly format: string;
  readonly format_version: 'v1' | 'v2_beta';
  readonly export_fields: readonly string[] | null;
  /** Null for one that is no schedule. */
  readonly interval_hours: number | null;
  readonly bulk_export_destination_id: string | null;
}

const PATH = '/api/v1/bulk-exports';

/** `agentplane export ddl NAME --for ENGINE`: statements that make a table over the files of an export. */
export async function printDdl(given: string, flags: ExportDdlFlags): Promise<number> {
  if (flags.for === undefined)
    throw new CommandError('usage', `name the engine: --for ${DDL_ENGINES.join('|')}`);
  const target = resolveTarget(flags);
  const id = await exportIdOf(target, given);
  const rest = new RestClient(target.rest);
  const found = await rest.request<ExportAnswer>('GET', `${PATH}/${id}`);
  if (found.interval_hours !== null) throw new CommandError('failed', scheduleAdvice(given));
  const failed = (why: string) =>
    new CommandError('failed', `rendering the table of export ${given} failed: ${why}`);
  if (found.format !== 'Parquet')
    throw failed('its files are lines of JSON; docs/reading-exports.md has lines that read these');
  if (found.bulk_export_destination_id === null) throw failed('its destination was deleted');
  const { config } = await rest.request<DestinationAnswer>(
    'GET',
    `${PATH}/destinations/${found.bulk_export_destination_id}`,
  );
  const { export_fields: fields, format_version: formatVersion } = found;
  const day = partitionFolder({
    prefix: config.prefix,
    exportId: found.id,
    tenantId: found.tenant_id,
    projectId: found.session_id,
    formatVersion,
    day: found.start_time.slice(0, 10),
  });
  const folder = day.slice(0, day.indexOf('/year='));
  const yearOf = (time: string): number => Number(time.slice(0, 4));
  print(
    renderDdl(flags.for, {
      name: 'agentplane_runs',
      columns: EXPORT_COLUMNS.filter(({ name }) => fields?.includes(name) ?? true),
      formatVersion,
      folder: `s3://${config.bucket_name}/${folder}`,
      url: `${storeUrl(config)}/${folder}`,
      years: [yearOf(found.start_time), yearOf(found.end_time)],
    }),
  );
  return EXIT.ok;
}

/** The address of the bucket over HTTP, without a slash at its end. */
function storeUrl(config: DestinationAnswer['config']): string {
  const endpoint = config.endpoint_url ?? `https://s3.${config.region ?? 'us-east-1'}.amazonaws.com`;
  const root = endpoint.replace(/\/+$/, '');
  return config.include_bucket_in_prefix ? `${root}/${config.bucket_name}` : root;
}
