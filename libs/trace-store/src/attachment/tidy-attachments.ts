import { inTransaction, type Connection, type Pool } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { RELEASE } from '../run/remove-runs.js';

const AT_ONCE = 1_000;
/** Time that attachments wait for their runs; the same as for updates. */
const WAITS = "interval '1 day'";
/** The problems of senders whose project is not known. */
const NO_PROJECT = '00000000-0000-0000-0000-000000000000';
const TYPE = 'run_never_arrived';
/** Number of attachments of a project that one pass names; the count has them all. */
const NAMED = 100;

interface Overdue {
  readonly tenant_id: string;
  readonly run_id: string;
  readonly name: string;
  readonly project_id: string | null;
  readonly object_id: string;
}

/** Gives references the places of runs that have arrived, and drops those whose runs never came. */
export async function tidyAttachments(pool: Pool, log: Logger): Promise<void> {
  await inTransaction(pool, place);
  for (;;) {
    const dropped = await inTransaction(pool, dropSome);
    if (dropped > 0) log.warn({ attachments: dropped }, 'dropped attachments whose runs never arrived');
    if (dropped < AT_ONCE) return;
  }
}

/** The keys are locked: a transaction that removes a run meanwhile waits, and finds its references. */
async function place(client: Connection): Promise<void> {
  await client.query(
    `WITH met AS (
      SELECT a.tenant_id, a.run_id, a.name, k.trace_id, k.project_id, k.start_time
      FROM attachments a CROSS JOIN LATERAL (
        SELECT trace_id, project_id, start_time FROM run_keys
        WHERE tenant_id = a.tenant_id AND id = a.run_id AND (a.project_id IS NULL OR project_id = a.project_id)
        ORDER BY trace_id LIMIT 1 FOR KEY SHARE
      ) k WHERE a.start_time IS NULL
    )
    UPDATE attachments a SET trace_id = m.trace_id, project_id = m.project_id, start_time = m.start_time
    FROM met m WHERE a.tenant_id = m.tenant_id AND a.run_id = m.run_id AND a.name = m.name AND a.start_time IS NULL`,
  );
}

async function dropSome(client: Connection): Promise<number> {
  const { rows } = await client.query<Overdue>(
    // materialized, so that the limit holds for all of it
    `WITH overdue AS MATERIALIZED (
      SELECT tenant_id, run_id, name FROM attachments
      WHERE start_time IS NULL AND created_at < clock_timestamp() - ${WAITS}
      LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED
    )
    DELETE FROM attachments a USING overdue o WHERE a.tenant_id = o.tenant_id AND a.run_id = o.run_id AND a.name = o.name
    RETURNING a.tenant_id, a.run_id, a.name, a.project_id, a.object_id`,
  );
  const bySender = Map.groupBy(rows, (row) => `${row.tenant_id} ${row.project_id ?? ''}`);
  for (const some of bySender.values()) await noteDropped(client, some);
  return rows.length;
}

async function noteDropped(client: Connection, some: readonly Overdue[]): Promise<void> {
  const [first] = some;
  if (!first) return;
  const { tenant_id: tenantId } = first;
  await client.query(`WITH gone AS (SELECT unnest($2::uuid[]) AS object_id), ${RELEASE}`, [
    tenantId,
    some.map((row) => row.object_id),
  ]);
  const named = some.slice(0, NAMED);
  await client.query(
    `INSERT INTO ingest_problems (tenant_id, project_id, kind, type, run_id, member, message)
    SELECT $1::uuid, $2::uuid, 'dropped', '${TYPE}', id, name, 'storing the attachment ' || name || ' of the run ' || id ||
      ' failed: the run did not arrive within a day; send the run, too'
    FROM unnest($3::text[], $4::text[]) AS s(id, name)`,
    [tenantId, first.project_id ?? NO_PROJECT, named.map((row) => row.run_id), named.map(({ name }) => name)],
  );
  await client.query(
    `INSERT INTO ingest_problem_counts AS c (tenant_id, project_id, kind, type, count)
    VALUES ($1, $2, 'dropped', '${TYPE}', $3)
    ON CONFLICT (tenant_id, project_id, kind, type)
      DO UPDATE SET count = c.count + EXCLUDED.count, last_seen_at = clock_timestamp()`,
    [tenantId, first.project_id ?? NO_PROJECT, some.length],
  );
}
