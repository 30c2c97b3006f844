import type { Queryable } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import type { RunFilters } from '../filter/filter-sql.js';
import type { SqlValues } from '../filter/sql-values.js';
import type { PayloadField, StoredRun } from '../run/stored-run.js';

/** Values of a statement, each with its parameter. */
export class Parameters implements SqlValues {
  readonly values: unknown[] = [];

  bind(type: string, value: string): string {
    return `${this.add(value)}::${type}`;
  }

  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }
}

/** Conditions of a search on a row of `runs` named `r`, without its projects, ids and filters. */
export function runConditions(search: RunSearch, parameters: Parameters): string[] {
  const { parentRunId, referenceExampleIds, threadId, isRoot, runType, hasError } = search;
  const all: string[] = [];
  if (parentRunId !== undefined) all.push(`r.parent_run_id = ${parameters.add(parentRunId)}::uuid`);
  if (referenceExampleIds)
    all.push(`r.reference_example_id = ANY(${parameters.add(referenceExampleIds)}::uuid[])`);
  if (threadId !== undefined) all.push(`r.thread_id = ${parameters.add(threadId)}`);
  if (isRoot !== undefined) all.push(isRoot ? 'r.is_root' : 'NOT r.is_root');
  if (runType !== undefined) all.push(`r.run_type = ${parameters.add(runType)}`);
  if (hasError !== undefined) all.push(hasError ? 'r.is_failed' : 'NOT r.is_failed');
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

/** The last run of a page: the next one begins after it. */
export interface RunCursor {
  readonly startTime: Instant;
  readonly id: string;
  readonly traceId: string;
}

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
