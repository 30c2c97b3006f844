import type { Instant } from '#lib/time';
import type { StoredRun } from '#lib/trace-store';

/** A run with those below it, in the order of the trace. */
export interface RunNode {
  readonly run: StoredRun;
  readonly below: readonly RunNode[];
}

/** Time range of all runs. */
export interface Span {
  readonly start: Instant;
  readonly end: Instant;
}

/** Levels that are nested; browsers stop at a few hundred elements within one another. */
const MOST_LEVELS = 40;

interface OpenNode extends RunNode {
  readonly below: OpenNode[];
  readonly level: number;
}

/** Runs below their parents; a run whose parent is on another page is put beside the first one. */
export function treeOf(runs: readonly StoredRun[]): readonly RunNode[] {
  const roots: OpenNode[] = [];
  const byId = new Map<string, OpenNode>();
  for (const run of runs.toSorted((a, b) => compare(a.row.dottedOrder, b.row.dottedOrder))) {
    const parent = byId.get(run.row.parentRunId ?? '');
    // too deep: beside its parent
    const node: OpenNode = { run, below: [], level: Math.min((parent?.level ?? 0) + 1, MOST_LEVELS) };
    byId.set(run.row.id, parent && parent.level === MOST_LEVELS ? { ...node, below: parent.below } : node);
    (parent ? parent.below : roots).push(node);
  }
  return roots;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function spanOf(runs: readonly StoredRun[]): Span {
  let [start, end] = [runs[0]?.row.startTime ?? 0n, runs[0]?.row.startTime ?? 0n];
  for (const { row } of runs) {
    const last = row.endTime ?? row.startTime;
    if (row.startTime < start) start = row.startTime;
    if (last > end) end = last;
  }
  return { start, end };
}
