import { bar } from '#lib/command-line';
import {
  type BulkExport,
  type BulkExportRun,
  exportRunWireStatus,
  type ExportWireStatus,
} from '#lib/resources';

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
export function amountText({ status }: Pick<BulkExport | BulkExportRun, 'status'>): string {
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
