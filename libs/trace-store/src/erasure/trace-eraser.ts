import { errorText } from '#lib/errors';
import { type Connection, inTransaction, mayPass, type Pool, textTypes } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { type Instant, parseInstant } from '#lib/time';
import { removeWaitingFeedback } from '../feedback/join-feedback.js';
import type { TenantWork } from '../in-turns.js';
import {
  claimErasure,
  type Erasure,
  recordErasures,
  releaseErasure,
  settleErasures,
  tenantsWithErasures,
} from '../ingestion/erased-traces.js';
import { erasureLock } from '../ingestion/waiting-patches.js';
import { REMOVED_AT_ONCE, type RunRemover } from '../run/remove-runs.js';
import type { RunPlace } from '../run/stored-run.js';

/** Traces of one project to be deleted, each by its name. */
interface NamedTraces {
  readonly traceIds: readonly string[];
  /** Threads to delete: all traces whose root names one of them in its metadata. */
  readonly threadIds: readonly string[];
  /** Traces of the threads that began later stay; by default the moment of the deletion. */
  readonly beganBy?: Instant | undefined;
}

/** Deletes traces of one tenant at a time. */
export interface Erasures {
  /**
   * Deletes traces with all their runs and payloads. Data that arrives for them within the next week is not
   * stored. Resolves when nothing of them is left; an interrupted deletion is completed later, and repeating
   * it changes nothing.
   * @returns the number of runs that it deleted
   */
  erase(tenantId: string, projectId: string, named: NamedTraces): Promise<number>;
}

/** Number of traces of a thread that are found at a time. */
const TRACES_AT_ONCE = 1_000;
/** Pieces per turn. */
const PIECES = 5;

/** A deletion piece by piece: how many runs each of them removed. */
type Pieces = AsyncGenerator<number, void, void>;

/**
 * Deletes traces in three steps, each of which may be done again: the intent, under the lock that keeps creates of the
 * tenant out, so that none of them misses it; the rows, some in each transaction; the note that they are gone.
 */
export class TraceEraser implements Erasures, TenantWork {
  readonly what = 'completing deletions of traces';

  constructor(
    private readonly pool: Pool,
    private readonly remover: RunRemover,
    private readonly log: Logger,
  ) {}

  async erase(tenantId: string, projectId: string, named: NamedTraces): Promise<number> {
    const { traceIds, threadIds, beganBy } = named;
    const erasures: Erasure[] = [
      ...[...new Set(threadIds)].map((id) => ({ kind: 'thread', id, projectId }) as const),
      ...[...new Set(traceIds.map((id) => id.toLowerCase()))].map(
        (id) => ({ kind: 'trace', id, projectId }) as const,
      ),
    ];
    if (erasures.length === 0) return 0;
    await this.#record(tenantId, erasures, beganBy);
    let removed = 0;
    for await (const some of this.#pieces(tenantId, projectId, erasures)) removed += some;
    return removed;
  }

  tenants(): Promise<readonly string[]> {
    return tenantsWithErasures(this.pool);
  }

  /** Continues a deletion that another process began; a failure is left for later. */
  async turn(tenantId: string): Promise<undefined> {
    const erasure = await claimErasure(this.pool, tenantId);
    if (!erasure) return undefined;
    // each turn looks again for the remaining rows: another process, or a later deletion, may have been at
    // work meanwhile
    const pieces = this.#pieces(tenantId, erasure.projectId, [erasure]);
    try {
      for (let piece = 0; piece < PIECES; piece++) if ((await pieces.next()).done) return undefined;
      await releaseErasure(this.pool, tenantId, erasure, 'goes on');
    } catch (error) {
      const problem = errorText(error);
      this.log.error(
        { tenantId, ...erasure, problem },
        'completing a deletion of traces failed; retrying later',
      );
      const end = mayPass(error) ? 'conflicted' : 'failed';
      await releaseErasure(this.pool, tenantId, erasure, end);
    }
    return undefined;
  }

  async #record(tenantId: string, erasures: readonly Erasure[], beganBy?: Instant): Promise<void> {
    await inTransaction(this.pool, (client) => recordErasures(client, tenantId, erasures, beganBy), [
      'BEGIN',
      `SELECT pg_advisory_xact_lock(${erasureLock(tenantId)})`,
    ]);
  }

  /** Ends when all of them are settled. */
  async *#pieces(tenantId: string, projectId: string, erasures: readonly Erasure[]): Pieces {
    const idsOf = (kind: Erasure['kind']) => erasures.filter((one) => one.kind === kind).map(({ id }) => id);
    for (;;) {
      const traceIds = await this.#tracesOf(tenantId, projectId, idsOf('thread'));
      if (traceIds.length === 0) break;
      // children that come without naming their thread are refused by their trace
      const found = traceIds.map((id) => ({ kind: 'trace', id, projectId }) as const);
      await this.#record(tenantId, found);
      yield* this.#remove(tenantId, projectId, traceIds);
      await settleErasures(this.pool, tenantId, found);
    }
    yield* this.#remove(tenantId, projectId, idsOf('trace'));
    await settleErasures(this.pool, tenantId, erasures);
  }

  /** Some of the traces that are left of these threads, from before their deletion. */
  async #tracesOf(tenantId: string, projectId: string, threadIds: readonly string[]): Promise<string[]> {
    if (threadIds.length === 0) return [];
    const { rows } = await this.pool.query<{ trace_id: string }>(
      `SELECT DISTINCT r.trace_id FROM trace_erasures e JOIN runs r
        ON r.tenant_id = e.tenant_id AND r.project_id = e.project_id AND r.thread_id = e.id AND r.start_time <= e.began_by
      WHERE e.tenant_id = $1 AND e.project_id = $2 AND e.kind = 'thread' AND e.id = ANY ($3::text[])
        AND r.is_root AND r.thread_id IS NOT NULL LIMIT ${TRACES_AT_ONCE}`,
      [tenantId, projectId, threadIds],
    );
    return rows.map((row) => row.trace_id);
  }

  async *#remove(tenantId: string, projectId: string, traceIds: readonly string[]): Pieces {
    if (traceIds.length === 0) return;
    for (;;) {
      const some = await this.remover.removePiece((client) =>
        lockSome(client, tenantId, projectId, traceIds),
      );
      yield some.length;
      if (some.length < REMOVED_AT_ONCE) return;
    }
  }
}

/** Locks some runs of these traces, and takes away the updates that wait for them. */
async function lockSome(
  client: Connection,
  tenantId: string,
  projectId: string,
  traceIds: readonly string[],
): Promise<readonly RunPlace[]> {
  // in the order in which batches lock them
  const { rows } = await client.query<{ id: string; trace_id: string; start_time: string }>({
    text: `SELECT id, trace_id, start_time FROM run_keys
      WHERE tenant_id = $1 AND trace_id = ANY ($2::uuid[]) AND project_id = $3
      ORDER BY id, trace_id LIMIT ${REMOVED_AT_ONCE} FOR UPDATE`,
    values: [tenantId, traceIds, projectId],
    types: textTypes,
  });
  // only those that may not reach another project: the others end by age
  await client.query(
    `DELETE FROM run_patches_waiting
    WHERE tenant_id = $1 AND project_id = $3 AND (run_id = ANY ($2::uuid[]) OR trace_id = ANY ($2::uuid[]))`,
    [tenantId, traceIds, projectId],
  );
  await removeWaitingFeedback(client, tenantId, projectId, traceIds);
  return rows.map(({ id, trace_id: traceId, start_time }) => ({
    tenantId,
    projectId,
    id,
    traceId,
    startTime: parseInstant(start_time, { zone: 'optional' }) ?? 0n,
  }));
}
