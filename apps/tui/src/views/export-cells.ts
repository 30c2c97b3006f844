import { bar, bytes, count } from '#lib/command-line';
import { type BulkExport, type BulkExportRun, exportRunState, exportState, REASON } from '#lib/resources';
import { age, span, sparkline } from '../render/fit.js';
import type { Item } from '../world/items.js';
import type { Column, Look } from './view.js';

export const NAME: Column = {
  heading: 'NAME',
  cell: ({ metadata }) => metadata.name,
  rank: ({ metadata }) => metadata.name,
};

/** Shown when rows of several namespaces are. */
export const NAMESPACE: Column = {
  heading: 'NAMESPACE',
  cell: ({ metadata }) => metadata.namespace ?? '',
  rank: ({ metadata }) => metadata.namespace ?? '',
};

export const AGE: Column = {
  heading: 'AGE',
  cell: ({ metadata }, { now }) => age(metadata.creationTimestamp, now),
  rank: (item) => -createdMs(item),
  align: 'right',
  isLive: true,
};

function createdMs({ metadata }: Item): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0;
}

const SPARK_WIDTH = 10;

type Exporting = BulkExport | BulkExportRun;

function stateOf(item: Exporting): ReturnType<typeof exportState> {
  return item.kind === 'BulkExportRun' ? exportRunState(item) : exportState(item);
}

const WAITING: ReadonlySet<string> = new Set([REASON.queued, REASON.awaitingPlace, REASON.waitingForWindow]);

/** True when it moves at present. */
function isRunning(item: Exporting): boolean {
  const { tone, word } = stateOf(item);
  return tone === 'busy' && !WAITING.has(word);
}

function percentOf(item: Exporting, { progress }: Pick<Look, 'progress'>): number {
  const { tone, word } = stateOf(item);
  if (tone === 'good' && word === REASON.completed) return 100;
  const percent = progress.percentOf(item, item.status?.percent ?? 0);
  // all rows are in files, and the last file is not
  return Math.min(99, Math.floor(percent));
}

function rateCell(item: Exporting, { progress, nowMs }: Look): string {
  const rates = isRunning(item) ? progress.ratesOf(item, nowMs) : [];
  const latest = rates.at(-1);
  return latest === undefined
    ? ''
    : `${sparkline(rates, SPARK_WIDTH).padStart(SPARK_WIDTH)} ${count(latest)}/s`;
}

function leftCell(item: Exporting, { progress, nowMs }: Look): string {
  const left = isRunning(item) ? progress.timeLeftMs(item, nowMs) : undefined;
  return left === undefined ? '' : span(left);
}

/** Bar, rows, bytes, rate and time left, alike for exports and their runs. */
export const PROGRESS_COLUMNS: readonly Column<Exporting>[] = [
  {
    heading: 'PROGRESS',
    cell: (item, look) => {
      const percent = percentOf(item, look);
      const text = `${percent} %`;
      return look.barWidth === 0 ? text : `${bar(percent / 100, look.barWidth)} ${text.padStart(5)}`;
    },
    rank: ({ status }) => -(status?.percent ?? 0),
    isLive: true,
  },
  {
    heading: 'ROWS',
    cell: ({ status }) => count(status?.rows ?? 0),
    rank: ({ status }) => -(status?.rows ?? 0),
    align: 'right',
  },
  {
    heading: 'SIZE',
    cell: ({ status }) => bytes(status?.bytes ?? 0),
    rank: ({ status }) => -(status?.bytes ?? 0),
    align: 'right',
  },
  { heading: 'RATE', cell: rateCell, isLive: true },
  { heading: 'LEFT', cell: leftCell, align: 'right', isLive: true },
];

/**
 * Rank of exports: running first, then recently failed, then waiting, then ended; in each the newest first.
 */
export function exportRank(item: Exporting): string {
  const { tone } = stateOf(item);
  const group = isRunning(item) ? 0 : tone === 'busy' ? 1 : tone === 'bad' ? 2 : 3;
  return `${group} ${String(1e14 - createdMs(item)).padStart(15, '0')}`;
}

/** Time to the minute, in UTC. */
export function minute(time: string | undefined): string {
  return time === undefined ? '' : time.slice(0, 16).replace('T', ' ');
}
