import { randomUUID } from 'node:crypto';
import {
  type BulkExport,
  type BulkExportRun,
  type BulkExportSpec,
  exportRunWireStatus,
  exportStatusReason,
  exportWireStatus,
  type ExportWireStatus,
  isFinishedExport,
  LABEL,
  type ObjectKey,
  REASON,
  RESOURCES,
} from '#lib/resources';
import { RestClient } from '#lib/rest-client';
import { bar, renderTable, visibleText } from '#lib/command-line';
import type { KubeClient } from '#lib/kube';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { findKind, findObject, qualifiedName } from '../objects/find-object.js';
import { print } from '../output/print-items.js';
import { LiveLines } from '../output/live-lines.js';
import { followObject } from '../waiting/follow-object.js';
import { exportIdOf, scheduleAdvice } from './find-export.js';

export interface ExportChangeFlags extends TargetFlags {
  readonly namespace: string | undefined;
}

/** Change of an export that has not ended. Each has a word that reports it. */
export type ExportChange = 'pause' | 'resume' | 'run-now' | 'move' | 'cancel';

const DONE: Readonly<Record<ExportChange, string>> = {
  pause: 'paused',
  resume: 'resumed',
  'run-now': 'asked to run now',
  move: 'given another destination',
  cancel: 'cancelled',
};

function changeTo(change: ExportChange, destination: string): Partial<BulkExportSpec> {
  switch (change) {
    case 'pause':
      return { suspend: true };
    case 'resume':
      return { suspend: false };
    case 'run-now':
      return { runRequest: { id: randomUUID() } };
    case 'move':
      return { destinationRef: { name: destination } };
    case 'cancel':
      return { cancel: true };
    default:
      return change satisfies never;
  }
}

/**
 * `agentplane export pause|resume|run-now|cancel NAME`, and `move NAME DESTINATION`.
 * @throws CommandError `notFound`; `failed` for an export that has ended, and for run-now and move of one that is no
 *   schedule
 */
export async function changeExport(
  name: string,
  change: ExportChange,
  flags: ExportChangeFlags,
  destination?: string,
): Promise<void> {
  await withKube(resolveTarget(flags), async ({ client, connection }) => {
    const namespace = flags.namespace ?? connection.namespace;
    const kind = await findKind(client, 'bulkexport');
    const { metadata } = await findObject(client, kind, name, { namespace });
    const found = await client.get(RESOURCES.BulkExport, { name: metadata.name, namespace });
    const status = exportWireStatus(found);
    const label = qualifiedName(RESOURCES.BulkExport, found.metadata.name);
    if (isFinishedExport(status))
      throw new CommandError('failed', `${label} is ${status}: it cannot be ${DONE[change]} any more`);
    if ((change === 'run-now' || change === 'move') && found.spec.intervalHours === undefined)
      throw new CommandError('failed', `${label} is no schedule: it has no intervalHours`);
    const to =
      destination === undefined
        ? undefined
        : await findObject(client, await findKind(client, 'bulkexportdestination'), destination, {
            namespace,
          });
    const key = { name: found.metadata.name, namespace };
    await client.merge(RESOURCES.BulkExport, key, { spec: changeTo(change, to?.metadata.name ?? '') });
    print(`${label} ${DONE[change]}\n`);
  });
}

/** `agentplane export continue NAME`. Uses REST, which has the exports of the archive too. */
export async function continueExport(given: string, flags: TargetFlags): Promise<void> {
  const target = resolveTarget(flags);
  const id = await exportIdOf(target, given);
  const rest = new RestClient(target.rest);
  const made = await rest.request<{ readonly id: string }>('POST', `/api/v1/bulk-exports/${id}/continue`);
  print(`export ${made.id} continues ${id}\n`);
}

export interface ExportLateFlags extends TargetFlags {
  /** True when an export of the late runs is to be made. */
  readonly export: boolean;
}

interface LateDay {
  readonly start_time: string;
  readonly late_runs: number | null;
  readonly first_start_time: string | null;
  readonly last_start_time: string | null;
  readonly unknown: string | null;
}

interface LateRuns {
  readonly late_runs: number;
  readonly exact: boolean;
  readonly days: readonly LateDay[];
}

/** `agentplane export late NAME`. Uses REST, which has the exports of the archive too. */
export async function exportLate(given: string, flags: ExportLateFlags): Promise<void> {
  const target = resolveTarget(flags);
  const id = await exportIdOf(target, given);
  const rest = new RestClient(target.rest);
  const path = `/api/v1/bulk-exports/${id}/late`;
  const found = await rest.request<LateRuns>('GET', path);
  process.stdout.write(renderLate(given, found));
  if (!flags.export || (found.exact && found.late_runs === 0)) return;
  const made = await rest.request<{ readonly id: string }>('POST', path);
  process.stdout.write(`export ${made.id} exports the late runs of ${given}\n`);
}

/** Days without late runs are left out. */
function renderLate(given: string, { late_runs, exact, days }: LateRuns): string {
  const shown = days.filter(({ late_runs: count }) => count !== 0);
  const sum = `${exact ? '' : 'at least '}${late_runs} late ${late_runs === 1 ? 'run' : 'runs'} of export ${given}\n`;
  if (shown.length === 0) return sum;
  const rows = shown.map((day) => [
    day.start_time.slice(0, 10),
    day.late_runs === null ? `unknown: ${day.unknown?.replaceAll('_', ' ') ?? ''}` : String(day.late_runs),
    day.first_start_time ?? '',
    day.last_start_time ?? '',
  ]);
  return `${sum}${renderTable(['DAY', 'LATE RUNS', 'FIRST', 'LAST'], rows)}`;
}

export interface ExportWatchFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly timeout: number;
}

/**
 * `agentplane export watch NAME`: to its end, with a bar for each run on a terminal, else with a line for each change.
 * @throws CommandError `notFound`; `failed` for an export that does not complete, and for a schedule; `timedOut`
 */
export async function watchExport(name: string, flags: ExportWatchFlags): Promise<void> {
  await withKube(resolveTarget(flags), async ({ client, connection }) => {
    const namespace = flags.namespace ?? connection.namespace;
    const kind = await findKind(client, 'bulkexport');
    const { metadata } = await findObject(client, kind, name, { namespace });
    const key = { name: metadata.name, namespace };
    const { spec } = await client.get(RESOURCES.BulkExport, key);
    if (spec.intervalHours !== undefined) throw new CommandError('failed', scheduleAdvice(name));
    const show = process.stderr.isTTY ? barPrinter(client, namespace) : linePrinter();
    print(await waitForExport(client, key, flags.timeout, show));
  });
}

/** The runs are read with each look: all are of one export, and few. */
function barPrinter(client: KubeClient, namespace: string): ShowExport {
  const lines = new LiveLines(process.stderr);
  return async (found) => {
    const labelSelector = `${LABEL.export}=${found.metadata.name}`;
    const { items } = await client.list(RESOURCES.BulkExportRun, { namespace, labelSelector });
    lines.show(exportBars(found, items, lines.most));
  };
}

const WIDTH = 20;
/** Order of preference where not all fit. */
const ORDER: readonly ExportWireStatus[] = [
  'FAILED',
  'TIMEDOUT',
  'RUNNING',
  'CREATED',
  'CANCELLED',
  'COMPLETED',
];

/** Rows and bytes of an export or a run, so far. */
function amountText({ status }: Pick<BulkExport | BulkExportRun, 'status'>): string {
  return `${status?.rows ?? 0} rows, ${status?.bytes ?? 0} bytes`;
}

/**
 * An export and each of its runs as a bar: those that failed or are at work replace others where not all fit.
 * @param most lines, at least one
 */
export function exportBars(
  found: BulkExport,
  runs: readonly BulkExportRun[],
  most: number,
): readonly string[] {
  const name = found.metadata.name;
  const width = Math.max(name.length, 'YYYY-MM-DD'.length);
  const { percent = 0, runs: counts } = found.status ?? {};
  const days = counts?.total ? `, ${counts.completed ?? 0} of ${counts.total} days completed` : '';
  const head = `${name.padEnd(width)}  ${barOf(percent)}  ${amountText(found)}${days}`;
  const shown = chosen(runs, most - 1);
  const left = runs.length - shown.length;
  return [
    head,
    ...shown.map((run) => `${dayOf(run).padEnd(width)}  ${runText(run)}`),
    ...(left > 0 && most > 1 ? [`and ${left} more runs`] : []),
  ];
}

function chosen(runs: readonly BulkExportRun[], most: number): readonly BulkExportRun[] {
  const byDay = runs.toSorted((a, b) => a.spec.startTime.localeCompare(b.spec.startTime));
  if (byDay.length <= most) return byDay;
  const rank = (run: BulkExportRun): number => ORDER.indexOf(exportRunWireStatus(run));
  // one line says how many are not shown
  const first = new Set(byDay.toSorted((a, b) => rank(a) - rank(b)).slice(0, Math.max(0, most - 1)));
  return byDay.filter((run) => first.has(run));
}

const dayOf = ({ spec }: BulkExportRun): string => spec.startTime.slice(0, 10);

const barOf = (percent: number): string => `${bar(percent / 100, WIDTH)} ${String(percent).padStart(3)} %`;

function runText(run: BulkExportRun): string {
  const { percent = 0, attempt = 0 } = run.status ?? {};
  const state = exportRunWireStatus(run);
  const again = attempt > 1 ? `, attempt ${attempt}` : '';
  return `${barOf(state === 'COMPLETED' ? 100 : percent)}  ${state.toLowerCase()}, ${amountText(run)}${again}`;
}

/** Shows how far an export is; called whenever it may have changed, and once more with its end. */
export type ShowExport = (found: BulkExport) => void | Promise<void>;

/**
 * Follows an export to its end.
 * @returns a line with what it exported
 * @throws CommandError `failed` with the reason, `timedOut`, or `notFound` when it was deleted meanwhile
 */
export async function waitForExport(
  client: KubeClient,
  key: ObjectKey,
  timeoutMs: number,
  show: ShowExport = linePrinter(),
): Promise<string> {
  let last: BulkExport | undefined;
  for await (const found of followObject(client, RESOURCES.BulkExport, key, { timeoutMs })) {
    if (!found) throw new CommandError('notFound', `BulkExport ${key.name} was deleted while it ran`);
    last = found;
    await show(found);
    const status = exportWireStatus(found);
    if (status === 'COMPLETED') return `${key.name} completed: ${amountText(found)}\n`;
    const reported = exportStatusReason(found);
    if (isFinishedExport(status))
      throw new CommandError(
        'failed',
        `export ${key.name} ended as ${status} (${reported?.reason ?? 'Unknown'}): ${reported?.message ?? ''}; "agentplane describe bx ${key.name}" shows more`,
      );
  }
  throw new CommandError(
    'timedOut',
    `export ${key.name} is not complete after ${timeoutMs / 1000} s: ${last ? progressText(last) : ''}; it goes on, and "agentplane export watch ${key.name}" shows how far`,
  );
}

/** A line for each change, on standard error. */
function linePrinter(): ShowExport {
  let last = '';
  return (found) => {
    if (isFinishedExport(exportWireStatus(found))) return;
    const progress = progressText(found);
    if (progress !== last) process.stderr.write(visibleText(`${found.metadata.name}: ${progress}\n`));
    last = progress;
  };
}

function progressText(found: BulkExport): string {
  const { runs, percent = 0 } = found.status ?? {};
  if (!runs?.total) return exportStatusReason(found)?.message ?? 'waiting for the controller';
  const reported = exportStatusReason(found);
  const failing = reported?.reason === REASON.retrying ? `; ${reported.reason}: ${reported.message}` : '';
  return `${percent} %, ${amountText(found)}, ${runs.completed ?? 0} of ${runs.total} days completed${failing}`;
}
