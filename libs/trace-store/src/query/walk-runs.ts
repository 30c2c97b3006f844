import type { Filter } from '#lib/filter-language';
import type { Clock } from '#lib/time';
import type { RunFilters } from '../filter/filter-sql.js';
import type { MarkedRun } from '../run/run-table.js';
import type { RunCursor } from './run-search.js';

/** True when a filter reads payloads, which no index serves: such a search goes through runs piece by piece. */
export function readsPayloads({ filter, traceFilter, treeFilter }: RunFilters = {}): boolean {
  return [filter, traceFilter, treeFilter].some((one) => one !== undefined && isReading(one));
}

function isReading(filter: Filter): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.conditions.some(isReading);
    case 'not':
      return isReading(filter.condition);
    case 'pair':
      return filter.family === 'input' || filter.family === 'output';
    case 'search':
    case 'contains':
    case 'key':
      return true;
    case 'compare':
      return filter.field === 'error' && filter.values[0] !== null;
    case 'tag':
      return false;
    default:
      return filter satisfies never;
  }
}

/** Runs of the first piece. */
const FIRST = 500;
const MOST = 50_000;
/** A page is answered after this time with what was found: the next one continues. */
const BUDGET_MS = 2_500;
/** Time limit of a statement of a walk; a piece that takes longer is made smaller. */
export const PIECE_MS = 2_000;
/** Duration of a piece that is neither too short nor too long. */
const [SHORT_MS, LONG_MS] = [200, 800];

export interface Walk {
  /** One more than the page has where more were found. */
  readonly marked: readonly MarkedRun[];
  /** The last run that was looked at; undefined when all were, or the page is full. */
  readonly reached: RunCursor | undefined;
}

/** The two questions of a walk, each with a time limit of its own: `PIECE_MS`. */
export interface WalkReads {
  /** The run that is so many after the cursor; undefined when there are fewer. */
  boundary(after: RunCursor | undefined, count: number): Promise<RunCursor | undefined>;
  /** Matching runs after one cursor up to the other, inclusive. */
  matches(
    after: RunCursor | undefined,
    until: RunCursor | undefined,
    most: number,
  ): Promise<readonly MarkedRun[]>;
  /** True for the error of a question whose time limit was reached. */
  isTooLong(error: unknown): boolean;
}

export interface WalkOptions {
  readonly after: RunCursor | undefined;
  readonly limit: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Runs of the first piece. */
  readonly first?: number | undefined;
}

/** Looks at pieces of the runs in the order of the page, until that is full or its time is over. */
export async function walkRuns(reads: WalkReads, options: WalkOptions): Promise<Walk> {
  const { limit, clock } = options;
  const begunMs = clock.monotonicMs();
  const marked: MarkedRun[] = [];
  let { after } = options;
  let count = options.first ?? FIRST;
  for (;;) {
    const pieceMs = clock.monotonicMs();
    const until = await reads.boundary(after, count);
    try {
      marked.push(...(await reads.matches(after, until, limit - marked.length)));
    } catch (error) {
      if (count === 1 || !reads.isTooLong(error)) throw error;
      if (after && after !== options.after && clock.monotonicMs() - begunMs >= BUDGET_MS)
        return { marked, reached: after };
      count = Math.max(1, count >> 3);
      continue;
    }
    if (until === undefined || marked.length > limit) return { marked, reached: undefined };
    after = until;
    const nowMs = clock.monotonicMs();
    if (nowMs - begunMs >= BUDGET_MS) return { marked, reached: after };
    if (nowMs - pieceMs < SHORT_MS) count = Math.min(MOST, count * 4);
    else if (nowMs - pieceMs > LONG_MS) count = Math.max(1, count >> 1);
  }
}
