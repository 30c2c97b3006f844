import { type Connection, inTransaction, type Pool } from '#lib/postgres';
import { subtractRuns } from '../statistics/sum-runs.js';
import { type PayloadStore, removeRows } from './payload-store.js';
import { findPlaces } from './run-keys.js';
import type { RunPlace } from './stored-run.js';
import { subtractTotals } from './trace-totals.js';

/**
 * Objects with fewer references are checked by the next tidying. Sorted: two removals wait instead of
 * deadlocking.
 */
export const RELEASE = `locked AS (
    SELECT o.id FROM attachment_objects o
    WHERE o.tenant_id = $1 AND o.state = 'stored' AND o.id IN (SELECT object_id FROM gone)
    ORDER BY o.id FOR NO KEY UPDATE
  )
  UPDATE attachment_objects o SET check_after = greatest(o.check_after, clock_timestamp()) FROM locked WHERE o.tenant_id = $1 AND o.id = locked.id`;

/** Removes the references of these runs of one tenant and project, whose keys the caller has locked or removed. */
async function removeAttachments(client: Connection, places: readonly RunPlace[]): Promise<void> {
  const [first] = places;
  if (!first) return;
  await client.query(
    `WITH gone AS (
      DELETE FROM attachments a USING unnest($3::uuid[], $4::uuid[]) AS k(run_id, trace_id)
      WHERE a.tenant_id = $1 AND a.run_id = k.run_id AND (a.trace_id IS NULL OR a.trace_id = k.trace_id)
        AND (a.project_id IS NULL OR a.project_id = $2) RETURNING a.object_id
    ), ${RELEASE}`,
    [first.tenantId, first.projectId, places.map(({ id }) => id), places.map(({ traceId }) => traceId)],
  );
}

/** Removes the references of all runs of a project, whose keys the caller has removed. */
export async function removeAttachmentsOfProject(
  client: { query(text: string, values: unknown[]): Promise<unknown> },
  tenantId: string,
  projectId: string,
): Promise<void> {
  await client.query(
    `WITH gone AS (
      DELETE FROM attachments WHERE tenant_id = $1 AND project_id = $2 RETURNING object_id
    ), ${RELEASE}`,
    [tenantId, projectId],
  );
}

/** Removes rows that belong to these runs, all of one tenant and project; their keys are locked. */
type Step = (client: Connection, runs: readonly RunPlace[]) => Promise<void>;

/** Runs of one transaction: their payloads may be large, and exports and updates wait for no long lock. */
export const REMOVED_AT_ONCE = 1_000;

/**
 * Steps that remove the rows of runs, in this order: a table that has rows of runs has a line here, and
 * nowhere else. While a line is performed, the rows of the lines below it can still be read; sums that runs
 * are part of are adjusted above the line of the table that they are made of.
 */
function stepsOf(payloads: Pick<PayloadStore, 'remove'>): readonly Step[] {
  return [
    (client, runs) => removeRows(client, 'feedback', runs),
    (client, runs) => removeRows(client, 'run_pairs', runs),
    (client, runs) => removeRows(client, 'unplaced_runs', runs),
    (client, runs) => removeRows(client, 'trace_tops', runs),
    removeAttachments,
    removeShares,
    (client, runs) => payloads.remove(client, runs),
    subtractRuns,
    subtractTotals,
    (client, runs) => removeRows(client, 'runs', runs),
    removeKeys,
    removeTokens,
  ];
}

/**
 * The only code that removes rows of runs: deletion of traces by name, of projects, and by age. Each piece is
 * a transaction of its own, and complete: a process that dies between two of them leaves whole runs.
 */
export class RunRemover {
  readonly #pool: Pool;
  readonly #steps: readonly Step[];

  constructor(pool: Pool, payloads: Pick<PayloadStore, 'remove'>) {
    this.#pool = pool;
    this.#steps = stepsOf(payloads);
  }

  /**
   * Removes some runs.
   * @param lock finds runs of one tenant and locks their keys, at most `REMOVED_AT_ONCE`
   * @returns the runs that it found
   */
  removePiece(lock: (client: Connection) => Promise<readonly RunPlace[]>): Promise<readonly RunPlace[]> {
    return inTransaction(this.#pool, async (client) => {
      const runs = await lock(client);
      for (const ofProject of Map.groupBy(runs, ({ projectId }) => projectId).values())
        for (const step of this.#steps) await step(client, ofProject);
      return runs;
    });
  }

  /** Removes those of these runs of one tenant that are still in their projects. */
  async removeAt(runs: readonly RunPlace[]): Promise<void> {
    for (let from = 0; from < runs.length; from += REMOVED_AT_ONCE) {
      const some = runs.slice(from, from + REMOVED_AT_ONCE);
      await this.removePiece(async (client) => {
        const found = await findPlaces(client, some[0]?.tenantId ?? '', some, { lock: true });
        return found.filter(
          (place, at) => place !== undefined && place.projectId === some[at]?.projectId,
        ) as RunPlace[];
      });
    }
  }
}

/** Removes feedback tokens with the last run that they are for: one id may occur in several traces. */
async function removeTokens(client: Connection, runs: readonly RunPlace[]): Promise<void> {
  const [first] = runs;
  if (!first) return;
  await client.query(
    `DELETE FROM feedback_tokens t WHERE tenant_id = $1 AND run_id = ANY ($3::uuid[])
      AND (project_id IS NULL OR project_id = $2) AND NOT EXISTS (
        SELECT FROM run_keys k WHERE k.tenant_id = $1 AND k.id = t.run_id
          AND (t.project_id IS NULL OR k.project_id = t.project_id))`,
    [first.tenantId, first.projectId, runs.map(({ id }) => id)],
  );
}

/** A link opens a whole trace or nothing. */
async function removeShares(client: Connection, runs: readonly RunPlace[]): Promise<void> {
  const [first] = runs;
  if (!first) return;
  await client.query(
    'DELETE FROM trace_shares WHERE tenant_id = $1 AND project_id = $2 AND trace_id = ANY ($3::uuid[])',
    [first.tenantId, first.projectId, runs.map(({ traceId }) => traceId)],
  );
}

async function removeKeys(client: Connection, runs: readonly RunPlace[]): Promise<void> {
  await client.query(
    `DELETE FROM run_keys k USING unnest($2::uuid[], $3::uuid[]) AS g(id, trace_id)
    WHERE k.tenant_id = $1 AND k.id = g.id AND k.trace_id = g.trace_id`,
    [runs[0]?.tenantId ?? null, runs.map(({ id }) => id), runs.map(({ traceId }) => traceId)],
  );
}
