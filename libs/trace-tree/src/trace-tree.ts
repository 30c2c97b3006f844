import type { ReadRun } from './read-run.js';
import { nameText } from './run-cells.js';

/** A run at its place in the tree of its trace. */
export interface TreeRow {
  readonly run: ReadRun;
  /** The name, after the lines that lead to it. */
  readonly title: string;
  /** Time during which the run was at work, on the scale of the whole trace. */
  readonly bar: string;
}

/** Cells of the bars. */
const BAR_WIDTH = 24;

/** A run with those below it. */
interface Branch {
  readonly run: ReadRun;
  readonly below: Branch[];
}

/**
 * Runs of a trace as a tree, each above those that it called, in the order in which they began. Runs whose
 * parent is not among them are at the left edge.
 * @param now taken as the end of unfinished runs, in milliseconds since 1970
 */
export function treeRows(runs: readonly ReadRun[], now: number): readonly TreeRow[] {
  const branches = new Map<string, Branch>(runs.map((run) => [run.id, { run, below: [] }]));
  const roots: Branch[] = [];
  for (const branch of branches.values()) {
    const above = branch.run.parent_run_id === null ? undefined : branches.get(branch.run.parent_run_id);
    (above?.below ?? roots).push(branch);
  }
  const barOf = barsOf(runs, now);
  const rows: TreeRow[] = [];
  const left = new Set(branches.values());
  // no recursion: a trace may be deeper than a stack
  const open: OpenBranch[] = [];
  const openRoots = (found: readonly Branch[]): void => {
    for (const branch of sorted(found).reverse()) open.push({ branch, lead: '', corner: '' });
  };
  const add = ({ branch, lead, corner }: OpenBranch): void => {
    if (!left.delete(branch)) return;
    const { run, below } = branch;
    rows.push({ run, title: `${lead}${corner}${nameText(run)}`, bar: barOf(run) });
    const inner = lead.length < WIDEST_LEAD ? `${lead}${BELOW[corner]}` : lead;
    const children = sorted(below);
    for (const child of children.reverse())
      open.push({ branch: child, lead: inner, corner: child === children[0] ? '└─ ' : '├─ ' });
  };
  openRoots(roots);
  for (;;) {
    for (let next = open.pop(); next; next = open.pop()) add(next);
    // runs that are below each other in a circle have no root
    const [first] = left;
    if (!first) return rows;
    openRoots([first]);
  }
}

type Corner = '' | '├─ ' | '└─ ';

/** Continuation below a row that begins with a corner. */
const BELOW: Readonly<Record<Corner, string>> = { '': '', '├─ ': '│  ', '└─ ': '   ' };

/** Rows further in are drawn no further to the right. */
const WIDEST_LEAD = 120;

interface OpenBranch {
  readonly branch: Branch;
  readonly lead: string;
  readonly corner: Corner;
}

function sorted(branches: readonly Branch[]): Branch[] {
  return [...branches].sort(
    ({ run: a }, { run: b }) =>
      compare(a.start_time, b.start_time) || compare(a.dotted_order, b.dotted_order),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Draws runs on one scale, from the first start to the last end. */
function barsOf(runs: readonly ReadRun[], now: number): (run: ReadRun) => string {
  const startOf = ({ start_time: time }: ReadRun): number => Date.parse(time);
  const endOf = (run: ReadRun): number =>
    run.end_time === null ? Math.max(now, startOf(run)) : Date.parse(run.end_time);
  const [first, last] = runs.reduce(
    ([from, to], run) => [Math.min(from, startOf(run)), Math.max(to, endOf(run))],
    [Infinity, -Infinity],
  );
  const scale = BAR_WIDTH / Math.max(1, last - first);
  return (run) => {
    const from = Math.min(BAR_WIDTH - 1, Math.floor((startOf(run) - first) * scale));
    const to = Math.max(from + 1, Math.round((endOf(run) - first) * scale));
    const filled = run.end_time === null ? '▒' : '█';
    return '·'.repeat(from) + filled.repeat(to - from) + '·'.repeat(Math.max(0, BAR_WIDTH - to));
  };
}
