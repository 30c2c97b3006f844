import { CONDITION, isConditionTrue, REASON, statusReason } from '#lib/resources';
import type { ShownExport, ShownExportRun, Snapshot } from '../feed/snapshot.js';
import { bar } from '../render/bar.js';
import { bytes, count } from '../render/quantity.js';
import { sparkline } from '../render/sparkline.js';
import { exportKey } from './export-key.js';
import { type Line, type Row, type RowOptions, shownName, treeOf } from './row.js';
import { type State, stateOf } from './tone.js';
import type { TreeColumn } from './tree-column.js';

const SPARK_WIDTH = 10;

/** Rows seen at points in time, oldest first; from these comes the rate. */
export interface RateHistory {
  /** Rows per second between the last samples of this export, oldest first. */
  ratesOf(key: string): readonly number[];
}

function countsOf(one: ShownExport | ShownExportRun): { readonly running?: number } {
  return one.status !== undefined && 'runs' in one.status ? (one.status.runs ?? {}) : {};
}

/** Reasons of Ready under which nothing runs at the moment. */
const WAITING: ReadonlySet<string> = new Set([REASON.queued, REASON.waitingForWindow, REASON.retrying]);

/** Ready says how far an export is; to people that is running, waiting, or an end. */
function exportState(one: ShownExport | ShownExportRun): State {
  const state = stateOf(one.status?.conditions, one.metadata.deletionTimestamp !== undefined);
  if (state.word === REASON.cancelled) return { ...state, tone: 'quiet' };
  if (state.word === REASON.pending && (countsOf(one).running ?? 0) > 0)
    return { ...state, word: CONDITION.running };
  if (state.tone !== 'good' || isConditionTrue(one.status?.conditions, CONDITION.completed)) return state;
  const { reason = '', message = '' } = statusReason(one) ?? {};
  const isWaiting = WAITING.has(reason);
  return { word: isWaiting ? reason : CONDITION.running, tone: 'busy', message: isWaiting ? message : '' };
}

function progress(percent: number | undefined, state: State, width: number): string {
  const shown = state.word === CONDITION.completed ? 100 : (percent ?? 0);
  const percentage = `${Math.floor(shown)} %`;
  return width === 0 ? percentage : `${bar(shown / 100, width)} ${percentage.padStart(5)}`;
}

function rate(rates: readonly number[]): string {
  const latest = rates.at(-1);
  return latest === undefined ? '' : `${sparkline(rates, SPARK_WIDTH)} ${count(latest)}/s`;
}

interface ExportItem {
  readonly one: ShownExport;
  readonly state: State;
  readonly rates: readonly number[];
  readonly barWidth: number;
}

interface ExportRunItem {
  readonly run: ShownExportRun;
  readonly state: State;
  readonly barWidth: number;
}

/** What stands behind name and state. */
export const EXPORT_COLUMNS: readonly TreeColumn<ExportItem, ExportRunItem>[] = [
  {
    heading: 'PROGRESS',
    parent: ({ one, state, barWidth }) => progress(one.status?.percent, state, barWidth),
    child: ({ run, state, barWidth }) => progress(run.status?.percent, state, barWidth),
  },
  {
    heading: 'ROWS',
    parent: ({ one }) => count(one.status?.rows ?? 0),
    child: ({ run }) => count(run.status?.rows ?? 0),
  },
  {
    heading: 'SIZE',
    parent: ({ one }) => bytes(one.status?.bytes ?? 0),
    child: ({ run }) => bytes(run.status?.bytes ?? 0),
  },
  {
    heading: 'RATE',
    parent: ({ rates }) => rate(rates),
    child: ({ run: { status } }) => ((status?.attempt ?? 0) > 1 ? `attempt ${status?.attempt}` : ''),
  },
];

function exportLine(one: ShownExport, history: RateHistory, options: RowOptions): Line {
  const key = exportKey(one.metadata);
  const state = exportState(one);
  const rates = state.word === CONDITION.running ? history.ratesOf(key) : [];
  return {
    key,
    name: shownName(one.metadata, options),
    state,
    cells: EXPORT_COLUMNS.map((column) => column.parent({ one, state, rates, barWidth: options.barWidth })),
  };
}

function runLine(run: ShownExportRun, options: RowOptions): Line {
  const state = exportState(run);
  return {
    key: `run ${run.metadata.namespace}/${run.metadata.name}`,
    name: run.spec.startTime.slice(0, 10),
    state,
    cells: EXPORT_COLUMNS.map((column) => column.child({ run, state, barWidth: options.barWidth })),
  };
}

/** Exports, newest first, each followed by its runs by day; closed by itself when it went well. */
export function exportRows(snapshot: Snapshot, history: RateHistory, options: RowOptions): Row[] {
  const newest = [...snapshot.exports].sort((a, b) =>
    (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''),
  );
  return newest.flatMap((one) => {
    const { name, namespace } = one.metadata;
    const runs = snapshot.exportRuns
      .filter((run) => run.spec.exportName === name && run.metadata.namespace === namespace)
      .sort((a, b) => a.spec.startTime.localeCompare(b.spec.startTime))
      .map((run) => runLine(run, options));
    const isOpen = options.isOpen(
      exportKey(one.metadata),
      !isConditionTrue(one.status?.conditions, CONDITION.completed),
    );
    return treeOf(exportLine(one, history, options), runs, isOpen);
  });
}
