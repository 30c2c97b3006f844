import type { Filter } from '#lib/filter-language';
import { type ByteRange, eachMember, type JsonWalk } from '#lib/json';
import type { Queryable } from '#lib/postgres';
import { type Clock, formatInstant, type Instant } from '#lib/time';
import type { SqlValues } from '../filter/filter-sql.js';
import type { RunFilters } from '../filter/payload-filters.js';
import type { MarkedRun } from '../run/run-table.js';
import { marksSql } from '../run/search-marks.js';
import type { PayloadField, StoredRun } from '../run/stored-run.js';

/** The member `metadata` of a stored `extra`, as its bytes; of several the last, as parsers take it. */
export function* metadataOf(extra: Buffer): JsonWalk<Buffer | undefined> {
  if (extra[0] !== '{'.charCodeAt(0)) return undefined;
  let found: ByteRange | undefined;
  yield* eachMember(extra, 0, (name, range) => {
    if (name === 'metadata') found = range;
  });
  return found && extra.subarray(found.start, found.end);
}

/** Values of a statement, each with its parameter. */
export class Parameters implements SqlValues {
  readonly values: unknown[] = [];

  constructor(readonly readsSealed = false) {}

  bind(type: string, value: string): string {
    return `${this.add(value)}::${type}`;
  }

  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }
}

/** Conditions of a search on a row of `runs` named `r`, without its projects, ids and filters. */
export function runConditions(search: RunSearch, parameters: Parameters): string[] {
  const { parentRunId, referenceExampleIds, threadId, isRoot, runType, hasError, marks } = search;
  const all: string[] = [];
  if (parentRunId !== undefined) all.push(`r.parent_run_id = ${parameters.add(parentRunId)}::uuid`);
  if (referenceExampleIds)
    all.push(`r.reference_example_id = ANY(${parameters.add(referenceExampleIds)}::uuid[])`);
  if (threadId !== undefined) all.push(`r.thread_id = ${parameters.add(threadId)}`);
  if (isRoot !== undefined) all.push(isRoot ? 'r.is_root' : 'NOT r.is_root');
  if (runType !== undefined) all.push(`r.run_type = ${parameters.add(runType)}`);
  if (hasError !== undefined) all.push(hasError ? 'r.is_failed' : 'NOT r.is_failed');
  if (marks) {
    const have = marksSql(
      'r',
      marks.bits.map((bit) => parameters.add(bit)),
    );
    all.push(marks.part === 'marked' ? have : `(${have}) IS NOT TRUE`);
  }
  return [...all, ...timeConditions('r', search, parameters)];
}

/** Conditions on the start times of rows of `runs` or of their keys. */
export function timeConditions(
  table: 'k' | 'r',
  { from, to }: Pick<RunSearch, 'from' | 'to'>,
  parameters: Parameters,
): string[] {
  const all: string[] = [];
  if (from !== undefined)
    all.push(`${table}.start_time >= ${parameters.add(formatInstant(from))}::timestamptz`);
  if (to !== undefined) all.push(`${table}.start_time <= ${parameters.add(formatInstant(to))}::timestamptz`);
  return all;
}

/** Conditions of a search on a row of `run_keys` named `k`: its run and its trace. */
export function keyConditions(search: RunSearch, parameters: Parameters): string[] {
  const { ids, traceId } = search;
  return [
    ...(ids ? [`k.id = ANY(${parameters.add(ids)}::uuid[])`] : []),
    ...(traceId === undefined ? [] : [`k.trace_id = ${parameters.add(traceId)}::uuid`]),
  ];
}

/**
 * The first and the last start time of some runs, as texts that keep the microseconds. A statement that gets them as values
 * is planned for the partitions of these days alone; without them, planning for the days of a year takes a fifth of a
 * second, although no more is read.
 */
export interface KeyTimes {
  readonly first: string;
  readonly last: string;
}

/** The same as conditions on a row named so. */
export function within(table: string, { first, last }: KeyTimes, values: SqlValues): string {
  const [from, to] = [values.bind('timestamptz', first), values.bind('timestamptz', last)];
  return `${table}.start_time >= ${from} AND ${table}.start_time <= ${to}`;
}

/** Time range of the runs and the trace that a search names; undefined when none exist. */
export function timesOfNamed(
  db: Queryable,
  tenantId: string,
  search: Pick<RunSearch, 'ids' | 'traceId'>,
): Promise<KeyTimes | undefined> {
  const parameters = new Parameters();
  const tenant = parameters.add(tenantId);
  return timesOf(db, [`k.tenant_id = ${tenant}`, ...keyConditions(search, parameters)], parameters);
}

/** Time range of whole traces; undefined when none of them has a run. */
export function timesOfTraces(
  db: Queryable,
  tenantId: string,
  traceIds: readonly string[],
): Promise<KeyTimes | undefined> {
  const parameters = new Parameters();
  const conditions = [
    `k.tenant_id = ${parameters.add(tenantId)}`,
    `k.trace_id = ANY(${parameters.add(`{${traceIds.join()}}`)}::uuid[])`,
  ];
  return timesOf(db, conditions, parameters);
}

async function timesOf(
  db: Queryable,
  conditions: readonly string[],
  { values }: Parameters,
): Promise<KeyTimes | undefined> {
  const { rows } = await db.query<{ first: string | null; last: string | null }>(
    `SELECT min(k.start_time)::text AS first, max(k.start_time)::text AS last FROM run_keys k
    WHERE ${conditions.join(' AND ')}`,
    values,
  );
  const { first, last } = rows[0] ?? {};
  return first && last ? { first, last } : undefined;
}

/** A search for a text answers roots whose marks have it first, then all other runs; each part in the order of the page. */
export const SEARCH_PARTS = ['marked', 'rest'] as const;
export type SearchPart = (typeof SEARCH_PARTS)[number];

/** The last run of a page: the next one begins after it. */
export interface RunCursor {
  readonly startTime: Instant;
  readonly id: string;
  readonly traceId: string;
  /** Absent: of a list that has one part only. */
  readonly part?: SearchPart | undefined;
}

/** Beginning of the second part of a search. */
export const START_OF_REST: RunCursor = {
  startTime: 0n,
  id: '00000000-0000-0000-0000-000000000000',
  traceId: '00000000-0000-0000-0000-000000000000',
  part: 'rest',
};

/** Conditions on runs; all that are given must hold. */
export interface RunSearch {
  /** Undefined: of any project. */
  readonly projectIds?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  /** True when each of `ids` may also be the id of a trace, which selects its root. */
  readonly mayNameTraces?: boolean | undefined;
  readonly traceId?: string | undefined;
  readonly parentRunId?: string | undefined;
  readonly referenceExampleIds?: readonly string[] | undefined;
  /** Roots name their thread, others seldom do. */
  readonly threadId?: string | undefined;
  readonly isRoot?: boolean | undefined;
  readonly runType?: string | undefined;
  readonly hasError?: boolean | undefined;
  /** They began then or later. */
  readonly from?: Instant | undefined;
  /** They began then or earlier. */
  readonly to?: Instant | undefined;
  readonly filters?: RunFilters | undefined;
  /** Roots whose marks have all of these bits, or all other runs. */
  readonly marks?: { readonly bits: readonly number[]; readonly part: SearchPart } | undefined;
}

export interface RunPageOptions {
  /** Order by start time, then id and trace. */
  readonly order: 'ascending' | 'descending';
  readonly after?: RunCursor | undefined;
  /** Maximum number of runs. */
  readonly limit: number;
  /** Payloads to be read. */
  readonly fields: readonly PayloadField[];
  /** True when statistics of feedback are read. */
  readonly feedback?: boolean | undefined;
  /** True when runs without tokens and costs of their own have those of the calls of models below them. */
  readonly totals?: boolean | undefined;
  /** True when runs have the ids of the runs below them. */
  readonly children?: boolean | undefined;
  /** A page ends before its runs are more than that; it has one run at least. */
  readonly maxBytes: number;
  /** Callback with the bytes of the page before its payloads are read; what it throws is thrown. */
  readonly hold?: ((bytes: number) => void) | undefined;
}

export interface RunPage {
  readonly runs: readonly StoredRun[];
  /** Undefined when there are no more runs. The page may have none, and a next one all the same. */
  readonly next: RunCursor | undefined;
  /** Start of the last run that was looked at, where the time of the page was over before it was full. */
  readonly lookedTo?: Instant | undefined;
}

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
  /** The part of the search that was looked at, where it has two. */
  readonly part?: SearchPart | undefined;
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

interface WalkOptions {
  readonly after: RunCursor | undefined;
  readonly limit: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Runs of the first piece; `Infinity`: all that are left, and pieces where that takes too long. */
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
    const until = count === Infinity ? undefined : await reads.boundary(after, count);
    try {
      marked.push(...(await reads.matches(after, until, limit - marked.length)));
    } catch (error) {
      if (count === 1 || !reads.isTooLong(error)) throw error;
      if (after && after !== options.after && clock.monotonicMs() - begunMs >= BUDGET_MS)
        return { marked, reached: after };
      count = count === Infinity ? MOST : Math.max(1, count >> 3);
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
