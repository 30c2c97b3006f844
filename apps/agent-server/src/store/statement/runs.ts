import type { JsonObject } from '#lib/json';
import { boundedPage, jsonbText, smallText } from '../json-text.js';
import {
  OUTLINE,
  ENDED_STATUSES,
  RUN_FIELDS,
  runColumns,
  type RunError,
  type RunField,
  type RunRow,
  type RunStatus,
} from '../row/run-row.js';
import { type Scope, type WorkerScope, RUN_IS_VISIBLE, visible } from '../scope.js';
import type { Sql } from '../sql.js';
import { claimable, type ServerIdentity } from '../row/claimed-run.js';

/**
 * @param place of the run; a thread that it must be on, undefined for any
 * @param mayBeLarge otherwise large kwargs are null
 */
export async function findRun(
  scope: Scope,
  sql: Sql,
  { runId, threadId }: { readonly runId: string; readonly threadId?: string | undefined },
  mayBeLarge: boolean,
): Promise<RunRow | undefined> {
  const { rows } = await sql.inScope<RunRow>(scope, {
    text: `SELECT ${runColumns(RUN_FIELDS, (text) => smallText(text, '$4'))} FROM agentplane.runs r
      WHERE r.run_id = $2 AND ($3::uuid IS NULL OR r.thread_id = $3) AND ${RUN_IS_VISIBLE}`,
    values: [runId, threadId ?? null, mayBeLarge],
  });
  return rows[0];
}

/** Row of a run without its input. */
export interface RunHead {
  readonly runId: string;
  readonly threadId: string;
  readonly status: RunStatus;
  readonly hasEnded: boolean;
  readonly attempt: number;
  readonly error: RunError | undefined;
  /** Its output may be read from its beginning, also later. */
  readonly isResumable: boolean;
}

interface RunHeadRow {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly error: RunError | null;
  readonly is_resumable: boolean | null;
}

/**
 * A run without its input, which is megabytes and of no use to a reader of its output.
 * @param threadId it must be on this thread; undefined for any
 */
export async function findRunHead(
  scope: Scope,
  sql: Sql,
  runId: string,
  threadId?: string,
): Promise<RunHead | undefined> {
  const { rows } = await sql.inScope<RunHeadRow>(scope, {
    name: 'find-run-head',
    text: `SELECT r.run_id, r.thread_id, r.status, r.attempt, r.error, (${OUTLINE} ->> 'resumable')::boolean AS is_resumable
      FROM agentplane.runs r WHERE r.run_id = $2 AND ($3::uuid IS NULL OR r.thread_id = $3) AND ${RUN_IS_VISIBLE}`,
    values: [runId, threadId ?? null],
  });
  return rows.map(({ run_id, thread_id, status, attempt, error, is_resumable }) => ({
    runId: run_id,
    threadId: thread_id,
    status,
    attempt,
    hasEnded: ENDED_STATUSES.includes(status),
    error: error ?? undefined,
    isResumable: is_resumable ?? false,
  }))[0];
}

/**
 * The place of a run among all runs.
 * @param runId of a run of the thread; the newest one without it
 */
export async function findRunPlace(
  scope: Scope,
  sql: Sql,
  threadId: string,
  runId?: string,
): Promise<number | undefined> {
  const { rows } = await sql.inScope<{ ordinal: string }>(scope, {
    text: `SELECT r.ordinal FROM agentplane.runs r
      WHERE r.thread_id = $2 AND ($3::uuid IS NULL OR r.run_id = $3) AND ${RUN_IS_VISIBLE}
      ORDER BY r.ordinal DESC LIMIT 1`,
    values: [threadId, runId ?? null],
  });
  return rows[0] && Number(rows[0].ordinal);
}

export interface RunPage {
  readonly limit: number;
  readonly offset: number;
  readonly status: string | undefined;
  /** Fields that are read. */
  readonly fields: readonly RunField[];
}

/** Runs of a thread, newest first: the page, or a part of it when their inputs are large. */
export async function listRuns(scope: Scope, sql: Sql, threadId: string, page: RunPage): Promise<RunRow[]> {
  const { rows } = await sql.inScope<RunRow>(scope, {
    text: boundedPage({
      columns: 'r.*',
      alias: 'r',
      rows: `SELECT ${runColumns(page.fields)} FROM agentplane.runs r
        WHERE r.thread_id = $2 AND ($3::text IS NULL OR r.status = $3) AND ${RUN_IS_VISIBLE}
        ORDER BY r.ordinal DESC LIMIT $4 OFFSET $5`,
      large: ['metadata', 'kwargs'],
    }),
    values: [threadId, page.status ?? null, page.limit, page.offset],
  });
  return rows;
}

/** Runs of one page; one that is not full is the last. */
export const THREAD_RUN_PAGE = 100;

/** A run of a thread that has a reader. */
export interface ThreadRun {
  readonly runId: string;
  /** Place among all runs; later ones have higher places. */
  readonly ordinal: number;
  /** Place among all runs that its thread ever had, from 1. */
  readonly place: number;
  readonly graphId: string;
  readonly status: RunStatus;
  readonly attempt: number;
}

/**
 * `protocol`: runs that use the thread stream protocol, active or ended in the last `keptMs`, from a place of
 * the thread on.
 */
export type WhichRuns =
  | { readonly kind: 'all' }
  | { readonly kind: 'active' }
  | { readonly kind: 'protocol'; readonly keptMs: number; readonly fromPlace: number };

interface ThreadRunRow {
  readonly run_id: string;
  readonly ordinal: string;
  readonly place: string | null;
  readonly graph_id: string;
  readonly status: RunStatus;
  readonly attempt: number;
}

const CONDITIONS: Readonly<Record<WhichRuns['kind'], string>> = {
  all: '',
  active: `AND r.status IN ('pending', 'running')`,
  protocol: `AND r.place >= $5 AND ${OUTLINE} ->> 'protocol' = 'v2'
    AND (r.ended_at IS NULL OR r.ended_at > clock_timestamp() - $4 * interval '1 ms')`,
};

/** A page of a thread's runs, from a place on, in the order in which they were made. */
export async function listThreadRuns(
  scope: Scope,
  sql: Sql,
  threadId: string,
  { from, which }: { readonly from: number; readonly which: WhichRuns },
): Promise<ThreadRun[]> {
  const { rows } = await sql.inScope<ThreadRunRow>(scope, {
    text: `SELECT r.run_id, r.ordinal, r.place, r.graph_id, r.status, r.attempt FROM agentplane.runs r
      WHERE r.thread_id = $2 AND r.ordinal >= $3 ${CONDITIONS[which.kind]} AND ${RUN_IS_VISIBLE}
      ORDER BY r.ordinal LIMIT ${THREAD_RUN_PAGE}`,
    values: [threadId, from, ...(which.kind === 'protocol' ? [which.keptMs, which.fromPlace] : [])],
  });
  return rows.map(({ run_id: runId, graph_id: graphId, ordinal, place, ...row }) => ({
    ...row,
    runId,
    graphId,
    ordinal: Number(ordinal),
    place: Number(place ?? 0),
  }));
}

/** Runs of one look; their list is held in memory. */
const PORTION = 200;

export interface ActiveRunSearch {
  readonly status: 'pending' | 'running';
  /** Undefined: of every thread. */
  readonly threadId: string | undefined;
  /** The last run of the portion before; undefined for the first one. */
  readonly after?: ActiveRun | undefined;
}

/** An active run with the position at which a listing continues. */
export interface ActiveRun {
  readonly runId: string;
  readonly threadId: string;
  /** Place of the run among all runs. */
  readonly ordinal: string;
  /** The last place at the first look: runs that come later are not meant. */
  readonly last: string;
}

/**
 * Runs that are pending or running, in the order in which they came; a portion of them, empty after the last
 * one.
 */
export async function listActiveRuns(
  scope: Scope,
  sql: Sql,
  { status, threadId, after }: ActiveRunSearch,
): Promise<readonly ActiveRun[]> {
  const { rows } = await sql.inScope<Record<'run_id' | 'thread_id' | 'ordinal' | 'last', string>>(scope, {
    scans: 'Searching runs',
    text: `SELECT r.run_id, r.thread_id, r.ordinal::text, l.ordinal::text AS last FROM agentplane.runs r,
        (SELECT coalesce($5::bigint, max(ordinal)) AS ordinal FROM agentplane.runs WHERE status = $2) l
      WHERE r.status = $2 AND ($3::uuid IS NULL OR r.thread_id = $3) AND ${RUN_IS_VISIBLE}
        AND r.ordinal > coalesce($4::bigint, 0) AND r.ordinal <= l.ordinal
      ORDER BY r.ordinal LIMIT ${PORTION}`,
    values: [status, threadId ?? null, after?.ordinal ?? null, after?.last ?? null],
  });
  return rows.map(({ run_id: runId, thread_id: of, ordinal, last }) => ({
    runId,
    threadId: of,
    ordinal,
    last,
  }));
}

/** Progress of a run. */
export interface RunState {
  readonly runId: string;
  readonly threadId: string;
  readonly hasEnded: boolean;
  readonly attempt: number;
  readonly error: RunError | undefined;
}

interface StateRow {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly error: RunError | null;
}

/** Progress of runs, without their inputs: hundreds of them may wait with inputs of megabytes. */
export async function listRunStates(
  scope: WorkerScope,
  sql: Sql,
  runIds: readonly string[],
): Promise<RunState[]> {
  const { rows } = await sql.asWorker<StateRow>(scope, {
    name: 'list-run-states',
    text: `SELECT r.run_id, r.thread_id, r.status, r.attempt, r.error FROM agentplane.runs r WHERE r.run_id = ANY($1)`,
    values: [runIds],
  });
  return rows.map(({ run_id: runId, thread_id: threadId, status, attempt, error }) => ({
    runId,
    threadId,
    attempt,
    hasEnded: ENDED_STATUSES.includes(status),
    error: error ?? undefined,
  }));
}

/**
 * Ids of runs without a thread whose metadata contains this: pending and running ones, and those that can
 * still be read.
 */
export async function listTemporaryRuns(scope: Scope, sql: Sql, metadata: JsonObject): Promise<string[]> {
  const { rows } = await sql.inScope<{ run_id: string }>(scope, {
    scans: 'Searching runs',
    text: `SELECT r.run_id FROM agentplane.runs r
      WHERE r.temporary AND r.metadata @> $2::jsonb AND ${visible('r.metadata')} ORDER BY r.run_id`,
    values: [jsonbText(metadata)],
  });
  return rows.map((row) => row.run_id);
}

/** The place of each thread's newest run, by thread; one without a run is left out. */
export async function listNewestPlaces(
  scope: WorkerScope,
  sql: Sql,
  threadIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await sql.asWorker<{ thread_id: string; ordinal: string }>(scope, {
    text: `SELECT f.thread_id, n.ordinal FROM unnest($1::uuid[]) AS f(thread_id), LATERAL (
      SELECT r.ordinal FROM agentplane.runs r WHERE r.thread_id = f.thread_id ORDER BY r.ordinal DESC LIMIT 1) n`,
    values: [threadIds],
  });
  return new Map(rows.map(({ thread_id: threadId, ordinal }) => [threadId, Number(ordinal)]));
}

/** Returns true when a run of the thread is pending or running. */
export async function hasActiveRun(scope: Scope, sql: Sql, threadId: string): Promise<boolean> {
  const { rows } = await sql.inScope(scope, {
    text: `SELECT 1 FROM agentplane.runs r
      WHERE r.thread_id = $2 AND r.status IN ('pending', 'running') AND ${RUN_IS_VISIBLE} LIMIT 1`,
    values: [threadId],
  });
  return rows.length > 0;
}

/** Removes a run that has ended; answers whether there was one. */
export async function removeRun(scope: Scope, sql: Sql, runId: string, threadId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.runs r WHERE r.run_id = $2 AND r.thread_id = $3
      AND r.status NOT IN ('pending', 'running') AND ${RUN_IS_VISIBLE}`,
    values: [runId, threadId],
  });
  return rowCount === 1;
}

/**
 * Removes a run without a thread, with its output and the pending call of its webhook; a running one is
 * thereby fenced.
 * @returns true when there was one
 */
export async function removeTemporaryRun(scope: Scope, sql: Sql, runId: string): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `WITH gone AS (
        DELETE FROM agentplane.runs r WHERE r.run_id = $2 AND r.temporary AND ${visible('r.metadata')} RETURNING r.run_id),
      unsent AS (DELETE FROM agentplane.webhooks w USING gone WHERE w.run_id = gone.run_id),
      unread AS (DELETE FROM agentplane.run_events e USING gone WHERE e.run_id = gone.run_id)
      SELECT run_id FROM gone`,
    values: [runId],
  });
  return rowCount === 1;
}

const COUNT_QUEUED = `SELECT count(*)::int AS count FROM agentplane.runs r WHERE ${claimable('$1')}`;

/** Number of runs that would begin at once if this server had places for them; for metrics. */
export async function countQueuedRuns(
  scope: WorkerScope,
  sql: Sql,
  { graphIds }: ServerIdentity,
): Promise<number> {
  const { rows } = await sql.asWorker<{ count: number }>(scope, { text: COUNT_QUEUED, values: [graphIds] });
  return rows[0]?.count ?? 0;
}

/** Limit of the count: no deployment has pods for more. */
const MOST_COUNTED = 10_000;

const COUNT_LOAD = `
SELECT (SELECT count(*) FROM (SELECT 1 FROM agentplane.runs r WHERE ${claimable('$1')} LIMIT $2) waiting)::int AS waiting,
  (SELECT count(*) FROM agentplane.runs r WHERE r.status = 'running')::int AS at_work`;

/**
 * Number of runs that would begin at once if a server had places for them, up to a bound, and of running
 * ones, at all servers.
 */
export async function countRunLoad(
  scope: WorkerScope,
  sql: Sql,
  { graphIds }: ServerIdentity,
): Promise<{ readonly waiting: number; readonly atWork: number }> {
  const { rows } = await sql.asWorker<{ waiting: number; at_work: number }>(scope, {
    text: COUNT_LOAD,
    values: [graphIds, MOST_COUNTED],
  });
  const [{ waiting, at_work: atWork } = { waiting: 0, at_work: 0 }] = rows;
  return { waiting, atWork };
}

/** Work of the servers of a deployment, now and later. */
export interface NextWork {
  /** True when a run is in progress at one of them. */
  readonly isAtWork: boolean;
  /**
   * Milliseconds until work is due by the database's time, negative for overdue work; undefined: none will
   * be.
   */
  readonly dueInMs: number | undefined;
  /** The same for work that may be late: expired threads and items. */
  readonly upkeepInMs: number | undefined;
}

interface Row {
  readonly at_work: boolean;
  readonly due_in_ms: number | null;
  readonly upkeep_in_ms: number | null;
}

const until = (moment: string): string =>
  `(EXTRACT(EPOCH FROM ${moment} - clock_timestamp()) * 1000)::float8`;

/**
 * Each part is one lookup in an index, except for runs that wait. Runs and crons of other revisions' graphs
 * wait for those.
 */
const NEXT = `
SELECT EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.status = 'running') AS at_work,
  ${until('w.due')} AS due_in_ms, ${until('w.upkeep')} AS upkeep_in_ms
FROM (SELECT
  least(
    (SELECT min(r.start_after) FROM agentplane.runs r WHERE r.status = 'pending' AND r.graph_id = ANY ($1)),
    (SELECT c.next_run_date FROM agentplane.crons c LEFT JOIN agentplane.assistants a ON a.assistant_id = c.assistant_id
      WHERE c.enabled AND c.next_run_date IS NOT NULL AND (a.graph_id IS NULL OR a.graph_id = ANY ($1))
      ORDER BY c.next_run_date LIMIT 1),
    (SELECT min(h.next_attempt_at) FROM agentplane.webhooks h WHERE h.state = 'pending'),
    (SELECT min(e.next_attempt_at) FROM agentplane.trace_erasures e WHERE $2)) AS due,
  least(
    (SELECT min(x.check_at) FROM agentplane.thread_ttls x),
    (SELECT min(i.expires_at) FROM agentplane.store_items i WHERE i.expires_at IS NOT NULL)) AS upkeep) w`;

/**
 * Finds the next work: runs, crons, webhooks, erasures of traces.
 * @param erases whether the servers erase traces at the platform; work that they cannot do wakes none
 */
export async function findNextWork(
  scope: WorkerScope,
  sql: Sql,
  { graphIds }: ServerIdentity,
  erases: boolean,
): Promise<NextWork> {
  const { rows } = await sql.asWorker<Row>(scope, { text: NEXT, values: [graphIds, erases] });
  const [row] = rows;
  return {
    isAtWork: row?.at_work ?? false,
    dueInMs: row?.due_in_ms ?? undefined,
    upkeepInMs: row?.upkeep_in_ms ?? undefined,
  };
}
