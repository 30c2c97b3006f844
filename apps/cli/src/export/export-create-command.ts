import { type Ended, visibleText } from '#lib/command-line';
import { resolveWindow } from '#lib/export-plan';
import { isAlreadyExists, type KubeClient } from '#lib/kube';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportSpec,
  dnsLabel,
  idOf,
  isUuid,
  LABEL,
  RESOURCES,
} from '#lib/resources';
import { RestClient } from '#lib/rest-client';
import { formatInstant, instantOf, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { qualifiedName } from '../objects/find-object.js';
import { print } from '../output/print-items.js';
import { projectIdOf } from '../rest/find-id.js';
import { waitForExport } from './export-command.js';

/** Estimate in the form of the REST interface. */
interface ExportEstimate {
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

/** Prints what an export would have, without making it. */
async function printEstimate(
  rest: RestClient,
  spec: BulkExportSpec,
  destination: BulkExportDestination,
): Promise<void> {
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
    ...windowOfOfPrintEstimate(spec),
    interval_hours: intervalHours,
    format: format === 'jsonl' ? 'JSONL' : 'Parquet',
    format_version: formatVersion,
    compression,
    filter,
    export_fields: exportFields,
    resources,
  });
  process.stdout.write(renderEstimate(estimate, intervalHours));
}

/** `last` is a word of the resource alone. */
function windowOfOfPrintEstimate({ startTime, endTime, last, intervalHours }: BulkExportSpec): {
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

export interface ExportCreateFlags extends TargetFlags {
  readonly project: string | undefined;
  readonly destination: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly last: string | undefined;
  readonly every: number | undefined;
  readonly catchUp: 'all' | 'none' | undefined;
  readonly files: BulkExport['spec']['format'] | undefined;
  readonly format: BulkExport['spec']['formatVersion'] | undefined;
  readonly compression: BulkExport['spec']['compression'] | undefined;
  readonly table: BulkExport['spec']['table'];
  /** Mebibytes. */
  readonly pageMib: number | undefined;
  readonly filter: string | undefined;
  readonly fields: string | undefined;
  readonly webhook: string | undefined;
  /** Name of a Secret. */
  readonly webhookSecret: string | undefined;
  readonly namespace: string | undefined;
  readonly feedback: boolean;
  readonly dryRun: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

const DEFAULT_WINDOW = '24h';

/** `agentplane export create [NAME]`. */
export async function createExport(name: string | undefined, flags: ExportCreateFlags): Promise<Ended> {
  const { project } = flags;
  if (project === undefined)
    throw new CommandError('usage', 'export create needs --project: the tracing project, by name or id');
  const spec = specOf(project, flags);
  const target = resolveTarget(flags);
  return await withKube(target, async ({ client, connection }) => {
    const namespace = flags.namespace ?? connection.namespace;
    if (flags.dryRun) {
      const destination = await client.get(RESOURCES.BulkExportDestination, {
        name: flags.destination,
        namespace,
      });
      return await printEstimate(new RestClient(target.rest), spec, destination);
    }
    const metadata = { name: name ?? nameFor(project), namespace };
    const made = await createNew(client, { metadata, spec });
    print(`${qualifiedName(RESOURCES.BulkExport, made.metadata.name)} created\n`);
    if (!flags.wait) {
      const { name: given } = made.metadata;
      await noteMissingProject(new RestClient(target.rest), project);
      process.stderr.write(
        flags.every === undefined
          ? `"agentplane export watch ${given}" shows how far it is, "agentplane export files ${given}" its files.\n`
          : `"agentplane export list -l ${LABEL.sourceExport}=${given}" lists the exports that it makes.\n`,
      );
      return;
    }
    print(await waitForExport(client, { name: made.metadata.name, namespace }, flags.timeout));
    return;
  });
}

/** @throws CommandError `failed` when the name is in use */
export async function createNew(
  client: KubeClient,
  wanted: Pick<BulkExport, 'spec'> & { readonly metadata: { name: string; namespace: string } },
): Promise<BulkExport> {
  try {
    return await client.create(RESOURCES.BulkExport, wanted);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { name } = wanted.metadata;
    throw new CommandError(
      'failed',
      `export ${name} exists already: choose another name, or delete it with "agentplane delete bx ${name} --yes"`,
      { cause: error },
    );
  }
}

/** A misspelt project looks like one that its first run has yet to make. */
async function noteMissingProject(rest: RestClient, project: string): Promise<void> {
  if (isUuid(project)) return;
  const found = await rest
    .request<readonly unknown[]>('GET', `/sessions?name=${encodeURIComponent(project)}&limit=1`)
    .catch(() => undefined);
  if (found?.length === 0)
    process.stderr.write(
      `Note: tracing project ${project} does not exist; the export waits for it. "agentplane traces projects" lists those that do.\n`,
    );
}

/** A project by its name or id. */
export function projectRef(project: string): BulkExport['spec']['tracingProject'] {
  return isUuid(project) ? { id: project } : { name: project };
}

/** Spec to which the API server adds defaults. */
function specOf(project: string, flags: ExportCreateFlags): BulkExport['spec'] {
  const { files, format, compression, table, pageMib, filter, fields, feedback } = flags;
  return {
    destinationRef: { name: flags.destination },
    tracingProject: projectRef(project),
    ...windowOf(flags),
    ...(files === undefined ? {} : { format: files }),
    ...(format === undefined ? {} : { formatVersion: format }),
    ...(compression === undefined ? {} : { compression }),
    ...(table === undefined ? {} : { table }),
    ...(pageMib === undefined ? {} : { pageBytes: pageMib << 20 }),
    ...(filter === undefined ? {} : { filter }),
    ...webhookOf(flags),
    ...(feedback ? { resources: ['runs', 'feedback'] } : {}),
    ...(fields === undefined ? {} : { exportFields: fields.split(',').map((field) => field.trim()) }),
  } as BulkExport['spec'];
}

function webhookOf({ webhook, webhookSecret }: ExportCreateFlags): Pick<BulkExport['spec'], 'webhook'> {
  if (webhook === undefined) {
    if (webhookSecret === undefined) return {};
    throw new CommandError('usage', '--webhook-secret signs the calls of --webhook; give that too');
  }
  const signed = webhookSecret === undefined ? {} : { secretRef: { name: webhookSecret } };
  return { webhook: { url: webhook, ...signed } };
}

/** A name of its own for each export of a project. */
export function nameFor(project: string): string {
  const time = systemClock.now().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').toLowerCase();
  return dnsLabel(`${project}-${time}`);
}

function windowOf({
  from,
  to,
  last,
  every,
  catchUp,
  wait,
}: ExportCreateFlags): Pick<BulkExport['spec'], 'startTime' | 'endTime' | 'last' | 'intervalHours'> {
  if (every !== undefined) {
    if (from === undefined || to !== undefined || last !== undefined)
      throw new CommandError('usage', 'a schedule (--every) needs --from, and neither --to nor --last');
    if (wait) throw new CommandError('usage', 'a schedule (--every) has no end that --wait could wait for');
    return { startTime: firstWindow(from, every, catchUp), intervalHours: every };
  }
  if (catchUp !== undefined) throw new CommandError('usage', '--catch-up needs --every');
  if (from === undefined && to === undefined) return { last: last ?? DEFAULT_WINDOW };
  if (from === undefined || to === undefined || last !== undefined)
    throw new CommandError('usage', 'the window is either --last, or both of --from and --to');
  return { startTime: from, endTime: to };
}

/** Windows that are made up for without a question. */
const MOST_UNASKED = 24;

/** Beginning of a schedule: windows that have ended are exported at once, so their number is said or asked about. */
function firstWindow(from: string, hours: number, catchUp: ExportCreateFlags['catchUp']): string {
  const startMs = Date.parse(from);
  const windowMs = hours * 3_600_000;
  const ended = Math.max(0, Math.floor((systemClock.now().getTime() - startMs) / windowMs));
  if (ended === 0) return from;
  if (catchUp === 'none') return new Date(startMs + ended * windowMs).toISOString();
  const windows = `${ended} window${ended === 1 ? '' : 's'} since ${from} ${ended === 1 ? 'has' : 'have'} ended`;
  if (catchUp === undefined && ended > MOST_UNASKED)
    throw new CommandError(
      'usage',
      `${windows}: --catch-up all makes an export of each at once, --catch-up none begins with the next; nothing was created`,
    );
  process.stderr.write(
    `${windows}, and an export of each is made now; --catch-up none would begin with the next\n`,
  );
  return from;
}
