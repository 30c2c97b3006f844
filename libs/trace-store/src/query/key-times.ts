import type { Queryable } from '#lib/postgres';
import type { SqlValues } from '../filter/sql-values.js';
import { keyConditions, Parameters } from './run-conditions.js';
import type { RunSearch } from './run-search.js';

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
