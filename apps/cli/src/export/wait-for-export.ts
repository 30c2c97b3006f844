import { bar, visibleText } from '#lib/command-line';
import type { KubeClient } from '#lib/kube';
import {
  type BulkExport,
  type BulkExportRun,
  exportRunWireStatus,
  exportStatusReason,
  type ExportWireStatus,
  exportWireStatus,
  isFinishedExport,
  type ObjectKey,
  REASON,
  RESOURCES,
} from '#lib/resources';
import { CommandError } from '../command-error.js';
import { print } from '../output/print-items.js';
import { followObject } from '../waiting/follow-object.js';

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
  const days = counts?.total ? `, ${counts.completed ?? 0} of ${counts.total} runs completed` : '';
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
 * Follows an export to its end, and prints what it exported.
 * @throws CommandError `failed` with the reason, `timedOut`, or `notFound` when it was deleted meanwhile
 */
export async function waitForExport(
  client: KubeClient,
  key: ObjectKey,
  timeoutMs: number,
  show: ShowExport = linePrinter(),
): Promise<void> {
  let last: BulkExport | undefined;
  for await (const found of followObject(client, RESOURCES.BulkExport, key, { timeoutMs })) {
    if (!found) throw new CommandError('notFound', `BulkExport ${key.name} was deleted while it ran`);
    last = found;
    await show(found);
    const status = exportWireStatus(found);
    if (status === 'COMPLETED') {
      print(`${key.name} completed: ${amountText(found)}\n`);
      return;
    }
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
export function linePrinter(): ShowExport {
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
  return `${percent} %, ${amountText(found)}, ${runs.completed ?? 0} of ${runs.total} runs completed${failing}`;
}
