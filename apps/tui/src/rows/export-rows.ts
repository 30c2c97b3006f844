import type { ShownExport, ShownExportRun, Snapshot } from '../feed/snapshot.js';
import { bar } from '../render/bar.js';
import { bytes, count } from '../render/quantity.js';
import { sparkline } from '../render/sparkline.js';
import { exportKey } from './export-key.js';
import { type Line, type Row, type RowOptions, shownName, treeOf } from './row.js';
import { findShown, type State, stateOf } from './tone.js';

/** Headings of the cells. */
export const EXPORT_COLUMNS = ['PROGRESS', 'ROWS', 'SIZE', 'RATE'] as const;

const SPARK_WIDTH = 10;

/** Rows seen at points in time, oldest first; from these comes the rate. */
export interface RateHistory {
  /** Rows per second between the last samples of this export, oldest first. */
  ratesOf(key: string): readonly number[];
}

function isTrue(one: ShownExport | ShownExportRun, type: string): boolean {
  return findShown(one.status?.conditions, type)?.status === 'True';
}

function countsOf(one: ShownExport | ShownExportRun): { readonly running?: number } {
  return one.status !== undefined && 'runs' in one.status ? (one.status.runs ?? {}) : {};
}

/** Ready says how far an export is; to people that is running, waiting, or an end. */
function exportState(one: ShownExport | ShownExportRun): State {
  const state = stateOf(one.status?.conditions, one.metadata.deletionTimestamp !== undefined);
  if (state.word === 'Cancelled') return { ...state, tone: 'quiet' };
  if (state.word === 'Pending' && (countsOf(one).running ?? 0) > 0) return { ...state, word: 'Running' };
  if (state.tone !== 'good' || isTrue(one, 'Completed')) return state;
  const { reason = '', message = '' } = findShown(one.status?.conditions, 'Ready') ?? {};
  const isWaiting = ['Queued', 'WaitingForWindow', 'Retrying'].includes(reason);
  return { word: isWaiting ? reason : 'Running', tone: 'busy', message: isWaiting ? message : '' };
}

function progress(percent: number | undefined, state: State, width: number): string {
  const shown = state.word === 'Completed' ? 100 : (percent ?? 0);
  const percentage = `${Math.floor(shown)} %`;
  return width === 0 ? percentage : `${bar(shown / 100, width)} ${percentage.padStart(5)}`;
}

function rate(rates: readonly number[]): string {
  const latest = rates.at(-1);
  return latest === undefined ? '' : `${sparkline(rates, SPARK_WIDTH)} ${count(latest)}/s`;
}

function exportLine(one: ShownExport, history: RateHistory, options: RowOptions): Line {
  const { rows = 0, bytes: size = 0, percent } = one.status ?? {};
  const key = exportKey(one.metadata);
  const state = exportState(one);
  const rates = state.word === 'Running' ? history.ratesOf(key) : [];
  return {
    key,
    name: shownName(one.metadata, options),
    state,
    cells: [progress(percent, state, options.barWidth), count(rows), bytes(size), rate(rates)],
  };
}

function runLine(run: ShownExportRun, options: RowOptions): Line {
  const { rows = 0, bytes: size = 0, percent, attempt = 0 } = run.status ?? {};
  const state = exportState(run);
  return {
    key: `run ${run.metadata.namespace}/${run.metadata.name}`,
    name: run.spec.startTime.slice(0, 10),
    state,
    cells: [
      progress(percent, state, options.barWidth),
      count(rows),
      bytes(size),
      attempt > 1 ? `attempt ${attempt}` : '',
    ],
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
    const isOpen = options.isOpen(exportKey(one.metadata), !isTrue(one, 'Completed'));
    return treeOf(exportLine(one, history, options), runs, isOpen);
  });
}
