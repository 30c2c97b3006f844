/** `812 ms`, `3.41 s`, `2m 05s`; empty while the run lasts. */
export function latencyText(seconds: number | null): string {
  if (seconds === null) return '';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 100) return `${seconds.toFixed(2)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}m ${String(whole % 60).padStart(2, '0')}s`;
}

/** The name, or the id of a run without one, and that its parent is missing. */
export function nameText({ id, name, parent_missing: isMissing = false }: ReadRun): string {
  return `${name === '' ? id : name}${isMissing ? ' (parent not received)' : ''}`;
}

/** Empty where nothing is known; in the unit in which costs are sent. */
export function costText(cost: string | null): string {
  if (cost === null) return '';
  const number = Number(cost);
  return number === 0 ? '0' : number.toFixed(number < 0.01 ? 6 : 4);
}

export function tokensText({ total_tokens: tokens }: ReadRun): string {
  return tokens === 0 ? '' : String(tokens);
}

/** The first line of an error. */
export function errorLine({ error }: ReadRun): string {
  return error?.trim().split('\n', 1)[0] ?? '';
}

/** Time to the second: tables are read by people. */
export function timeText(time: string): string {
  return `${time.slice(0, 19)}Z`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
];

/** Time since an instant in its largest unit: `3d`, `12m`, `5s`. */
export function ageText(time: string, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(time)) / 1_000));
  const [unit, length] = UNITS.find(([, one]) => seconds >= one) ?? ['s', 1];
  return `${Math.floor(seconds / length)}${unit}`;
}

/** A run as `POST /runs/query` answers it with `RUN_FIELDS`. */
export interface ReadRun {
  readonly id: string;
  readonly trace_id: string;
  readonly parent_run_id: string | null;
  /** True when it is shown as the root of its trace, since its parent was not received. */
  readonly parent_missing?: boolean;
  readonly name: string;
  readonly run_type: string;
  readonly status: 'pending' | 'success' | 'error' | 'interrupted';
  /** RFC 3339. */
  readonly start_time: string;
  readonly end_time: string | null;
  /** Seconds; null while it lasts. */
  readonly latency: number | null;
  readonly total_tokens: number;
  /** A decimal; null where nothing is known. */
  readonly total_cost: string | null;
  readonly thread_id: string | null;
  readonly tags: readonly string[];
  readonly error: string | null;
  readonly dotted_order: string;
}

/** Fields for `select`. */
export const RUN_FIELDS: readonly string[] = [
  'id',
  'trace_id',
  'parent_run_id',
  'parent_missing',
  'name',
  'run_type',
  'status',
  'start_time',
  'end_time',
  'latency',
  'total_tokens',
  'total_cost',
  'thread_id',
  'tags',
  'error',
  'dotted_order',
];

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
