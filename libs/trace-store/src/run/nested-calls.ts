import type { Connection } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import { MICROS_PER_HOUR, recordChange } from '../statistics/run-statistics-table.js';
import { hasUsageSql, withoutUsage } from './own-usage.js';
import { findPlaces, runKey } from './run-keys.js';
import type { RunPlace } from './run-place.js';
import { selectRuns, updateRuns } from './run-table.js';
import type { RunRow } from './stored-run.js';

/** A call that states a usage, with its place and its ancestors. */
export type StandingCall = RunPlace & Pick<RunRow, 'parentRunIds'> & Partial<Pick<RunRow, 'endTime'>>;

/** Clocks of parents and children differ. */
const SKEW: Instant = MICROS_PER_HOUR;

/**
 * Children of the run in row `o` that are in its project and trace. They are found by their parent: by the
 * primary key, which an equal project would make the planner choose, all runs of the time would be read.
 */
const childrenOf = (o: string): string =>
  `(SELECT t.id, t.trace_id, t.project_id, ${hasUsageSql('t')} AS is_call FROM runs t
      WHERE t.tenant_id = $1 AND t.parent_run_id = ${o}.id AND t.trace_id IS NOT DISTINCT FROM ${o}.trace_id
        AND t.project_id IS NOT DISTINCT FROM ${o}.project_id AND t.start_time >= $2 AND t.start_time <= $3 OFFSET 0)`;

const CALLS = 'unnest($4::uuid[], $5::uuid[], $6::uuid[]) AS c(project_id, id, trace_id)';

/** Selects the given calls that have any child. They are few, and found without recursion. */
const WITH_CHILDREN = `SELECT c.id, c.trace_id FROM ${CALLS} WHERE EXISTS ${childrenOf('c')}`;

/** Selects the given calls that have another call below them. */
const ABOVE_CALLS = `SELECT c.id, c.trace_id FROM ${CALLS} WHERE EXISTS (
  WITH RECURSIVE below AS (
    ${childrenOf('c')}
    UNION
    SELECT t.* FROM below b CROSS JOIN LATERAL ${childrenOf('b')} t WHERE NOT b.is_call
  ) SELECT FROM below WHERE is_call
)`;

/** Selects the given runs that are calls with a usage. */
const ARE_CALLS = `
SELECT k.id, k.trace_id FROM (SELECT DISTINCT * FROM unnest($2::uuid[], $3::uuid[]) AS a(id, trace_id)) a
JOIN run_keys k ON k.tenant_id = $1 AND k.id = a.id AND k.trace_id = a.trace_id
CROSS JOIN LATERAL (
  SELECT FROM runs r WHERE r.tenant_id = $1 AND r.project_id = k.project_id AND r.start_time = k.start_time
    AND r.id = k.id AND r.trace_id = k.trace_id AND ${hasUsageSql('r')} OFFSET 0
) r`;

interface FoundRow {
  readonly id: string;
  readonly trace_id: string;
}

async function findAbove(
  client: Connection,
  tenantId: string,
  calls: readonly StandingCall[],
  others: ReadonlySet<string>,
): Promise<readonly FoundRow[]> {
  const above = calls.flatMap(({ traceId, parentRunIds }) =>
    parentRunIds.flatMap((id) => (others.has(runKey({ id, traceId })) ? [] : [{ id, traceId }])),
  );
  if (above.length === 0) return [];
  const values = [tenantId, above.map(({ id }) => id), above.map(({ traceId }) => traceId)];
  return (await client.query<FoundRow>(ARE_CALLS, values)).rows;
}

async function findWithCallsBelow(
  client: Connection,
  tenantId: string,
  calls: readonly StandingCall[],
): Promise<readonly FoundRow[]> {
  let [from, to] = [calls[0]?.startTime ?? 0n, calls[0]?.startTime ?? 0n];
  for (const { startTime, endTime = startTime } of calls) {
    if (startTime < from) from = startTime;
    if (endTime > to) to = endTime;
  }
  const find = async (text: string, some: readonly StandingCall[]): Promise<readonly FoundRow[]> => {
    const { rows } = await client.query<FoundRow>(text, [
      tenantId,
      formatInstant(from - SKEW),
      formatInstant(to + SKEW),
      some.map(({ projectId }) => projectId),
      some.map(({ id }) => id),
      some.map(({ traceId }) => traceId),
    ]);
    return rows;
  };
  const parents = new Set(
    (await find(WITH_CHILDREN, calls)).map((row) => runKey({ id: row.id, traceId: row.trace_id })),
  );
  const some = calls.filter((call) => parents.has(runKey(call)));
  return some.length === 0 ? [] : find(ABOVE_CALLS, some);
}

/**
 * Takes the usage from calls that other calls were made by: both state the same one, and the innermost has it. It stays in
 * the outputs and the metadata.
 *
 * To be called in the transaction that stored these calls, when it has locked the totals of their traces: of two
 * transactions that store an outer and an inner call, the second one finds what the first has stored.
 * @param calls that state a usage now
 * @param others runs that are known to be no calls with a usage, as `runKey` spells them
 * @returns the rows whose usage was taken, as they were
 */
export async function takeOuterUsage(
  client: Connection,
  tenantId: string,
  calls: readonly StandingCall[],
  others: ReadonlySet<string> = new Set(),
): Promise<readonly RunRow[]> {
  if (calls.length === 0) return [];
  const outer = [
    ...(await findAbove(client, tenantId, calls, others)),
    ...(await findWithCallsBelow(client, tenantId, calls)),
  ].map((row) => ({ id: row.id, traceId: row.trace_id }));
  if (outer.length === 0) return [];
  const wanted = [...new Map(outer.map((run) => [runKey(run), run])).values()];
  const places = await findPlaces(client, tenantId, wanted, { lock: true });
  const projects = new Set(calls.map(({ projectId, traceId }) => `${projectId} ${traceId}`));
  const own = places.filter(
    (place) => place !== undefined && projects.has(`${place.projectId} ${place.traceId}`),
  ) as RunPlace[];
  const before = await selectRuns(client, tenantId, own);
  const after = before.map(withoutUsage);
  await updateRuns(client, tenantId, after, () => false);
  await recordChange(client, tenantId, before, after);
  return before;
}
