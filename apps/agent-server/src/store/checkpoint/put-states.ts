import { mayPass } from '#lib/postgres';
import { FENCE, type Fence } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { Batch } from '../batch.js';
import { WORKER } from '../worker-scope.js';

/** One value of a channel, serialised. */
export interface DumpedBlob {
  readonly channel: string;
  readonly version: string;
  readonly type: string;
  readonly bytes: Buffer | null;
}

interface DumpedCheckpoint {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId: string | undefined;
  /** JSON text. */
  readonly checkpoint: string;
  /** JSON text. */
  readonly metadata: string;
  readonly blobs: readonly DumpedBlob[];
}

function checkpointValues({ blobs, parentId, ...dumped }: DumpedCheckpoint): unknown[] {
  const { threadId, namespace, checkpointId, checkpoint, metadata } = dumped;
  const kept = columns(blobs, ['channel', 'version', 'type', 'bytes']);
  return [threadId, namespace, ...kept, checkpointId, parentId ?? null, checkpoint, metadata];
}

const PUT_ATTEMPT_CHECKPOINT = `
WITH ${FENCE}, blobs AS (
  INSERT INTO agentplane.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob, run_id)
  SELECT $3, $4, b.*, $1 FROM fence, unnest($5::text[], $6::text[], $7::text[], $8::bytea[]) AS b(channel, version, type, blob)
  ON CONFLICT DO NOTHING
), checkpoint AS (
  INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
  SELECT $3, $4, $9, $10, $11::jsonb, $12::jsonb FROM fence
  ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
  DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata)
SELECT 1 FROM fence`;

/** Keeps a checkpoint; answers false when another attempt has the run. */
async function putCheckpoint(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: Fence,
  dumped: DumpedCheckpoint,
): Promise<boolean> {
  const { rowCount } = await sql.asWorker(scope, {
    name: 'put-checkpoint',
    text: PUT_ATTEMPT_CHECKPOINT,
    values: [runId, attempt, ...checkpointValues(dumped)],
  });
  return rowCount !== 0;
}

/** One write of a task, serialised. */
export interface DumpedWrite {
  readonly idx: number;
  readonly channel: string;
  readonly type: string;
  readonly blob: Buffer;
}

export interface DumpedWrites {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  readonly taskId: string;
  /** Place of the task among those of its step, by which LangGraph replays writes; '' from releases that do not give it. */
  readonly taskPath: string;
  /** An existing write of the same place is replaced, not kept. */
  readonly replaces: boolean;
  readonly writes: readonly DumpedWrite[];
}

function writesValues({ writes, ...dumped }: DumpedWrites): unknown[] {
  const { threadId, namespace, checkpointId, taskId, taskPath } = dumped;
  const kept = columns(writes, ['idx', 'channel', 'type', 'blob']);
  return [threadId, namespace, checkpointId, taskId, ...kept, taskPath];
}

/** Place of the error among the writes of a task: `WRITES_IDX_MAP` of the library, which the server does not load. */
export const ERROR_IDX = -1;

/** A task that failed has no writes: its stored writes of the step were not applied. */
const DROP = `dropped AS (
  DELETE FROM agentplane.checkpoint_writes o USING fence WHERE o.thread_id = $3 AND o.checkpoint_ns = $4
    AND o.checkpoint_id = $5 AND o.task_id = $6 AND o.idx >= 0 AND ${ERROR_IDX} = ANY ($7::int[])), `;

function writesStatement(onConflict: string, before = ''): string {
  return `
WITH ${FENCE}, ${before}writes AS (
  INSERT INTO agentplane.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, run_id, task_path)
  SELECT $3, $4, $5, $6, w.*, $1, $11 FROM fence, unnest($7::int[], $8::text[], $9::text[], $10::bytea[]) AS w(idx, channel, type, blob)
  ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict})
SELECT 1 FROM fence`;
}

const INSERT_WRITES = writesStatement('DO NOTHING');
const UPSERT_WRITES = writesStatement(
  'DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob, run_id = EXCLUDED.run_id',
  DROP,
);

/** Keeps writes of a task beside its checkpoint; answers false when another attempt has the run. */
export async function putWrites(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: Fence,
  dumped: DumpedWrites,
): Promise<boolean> {
  const { rowCount } = await sql.asWorker(scope, {
    name: dumped.replaces ? 'upsert-writes' : 'insert-writes',
    text: dumped.replaces ? UPSERT_WRITES : INSERT_WRITES,
    values: [runId, attempt, ...writesValues(dumped)],
  });
  return rowCount !== 0;
}

const PUT_CHECKPOINT = `
WITH blobs AS (
  INSERT INTO agentplane.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
  SELECT $1, $2, b.* FROM unnest($3::text[], $4::text[], $5::text[], $6::bytea[]) AS b(channel, version, type, blob)
  ON CONFLICT DO NOTHING)
INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
VALUES ($1, $2, $7, $8, $9::jsonb, $10::jsonb)
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata`;

/** Keeps a checkpoint that no run made: a change of a state from outside holds its thread. */
export async function putThreadCheckpoint(
  scope: WorkerScope,
  sql: Sql,
  dumped: DumpedCheckpoint,
): Promise<void> {
  await sql.asWorker(scope, {
    name: 'put-thread-checkpoint',
    text: PUT_CHECKPOINT,
    values: checkpointValues(dumped),
  });
}

function threadStatement(onConflict: string): string {
  return `
INSERT INTO agentplane.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path)
SELECT $1, $2, $3, $4, w.*, $9 FROM unnest($5::int[], $6::text[], $7::text[], $8::bytea[]) AS w(idx, channel, type, blob)
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict}`;
}

const INSERT_THREAD_WRITES = threadStatement('DO NOTHING');
const UPSERT_THREAD_WRITES = threadStatement(
  'DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob',
);

/** Keeps writes of a task that no run made. */
export async function putThreadWrites(scope: WorkerScope, sql: Sql, dumped: DumpedWrites): Promise<void> {
  await sql.asWorker(scope, {
    name: dumped.replaces ? 'upsert-thread-writes' : 'insert-thread-writes',
    text: dumped.replaces ? UPSERT_THREAD_WRITES : INSERT_THREAD_WRITES,
    values: writesValues(dumped),
  });
}

/** State of an attempt to be stored: a checkpoint, or writes of a task. */
export type StateWrite =
  | { readonly kind: 'checkpoint'; readonly fence: Fence; readonly dumped: DumpedCheckpoint }
  | { readonly kind: 'writes'; readonly fence: Fence; readonly dumped: DumpedWrites };

function writes(from: number, onConflict: string): string {
  const [run, thread, namespace, checkpoint, task, idx, channel, type, blob, path] = Array.from(
    { length: 10 },
    (_, n) => `$${from + n}`,
  );
  return `INSERT INTO agentplane.checkpoint_writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, run_id, task_path)
  SELECT w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, w.channel, w.type, w.blob, w.run_id, w.task_path
  FROM unnest(${run}::uuid[], ${thread}::text[], ${namespace}::text[], ${checkpoint}::text[], ${task}::text[], ${idx}::int[],
    ${channel}::text[], ${type}::text[], ${blob}::bytea[], ${path}::text[])
    AS w(run_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path) JOIN fence USING (run_id)
  ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict}`;
}

/**
 * Runs whose rows another transaction holds are left out: one statement for many must not wait for any of them, and two
 * such statements cannot wait for one another.
 */
const PUT_STATES = `
WITH fence AS MATERIALIZED (
  SELECT r.run_id FROM agentplane.runs r JOIN unnest($1::uuid[], $2::int[]) AS h(run_id, attempt)
    ON r.run_id = h.run_id AND r.attempt = h.attempt
  WHERE r.status = 'running' FOR SHARE OF r SKIP LOCKED),
blobs AS (
  INSERT INTO agentplane.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob, run_id)
  SELECT b.thread_id, b.checkpoint_ns, b.channel, b.version, b.type, b.blob, b.run_id
  FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[])
    AS b(run_id, thread_id, checkpoint_ns, channel, version, type, blob) JOIN fence USING (run_id)
  ON CONFLICT DO NOTHING),
checkpoints AS (
  INSERT INTO agentplane.checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
  SELECT c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_id, c.checkpoint, c.metadata
  FROM unnest($10::uuid[], $11::text[], $12::text[], $13::text[], $14::text[], $15::jsonb[], $16::jsonb[])
    AS c(run_id, thread_id, checkpoint_ns, checkpoint_id, parent_id, checkpoint, metadata) JOIN fence USING (run_id)
  ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
  DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata),
kept AS (${writes(17, 'DO NOTHING')}),
replaced AS (${writes(
  27,
  'DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob, run_id = EXCLUDED.run_id',
)}),
dropped AS (
  DELETE FROM agentplane.checkpoint_writes o
  USING unnest($27::uuid[], $28::text[], $29::text[], $30::text[], $31::text[], $32::int[])
    AS w(run_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx) JOIN fence USING (run_id)
  WHERE w.idx = ${ERROR_IDX} AND o.idx >= 0 AND o.thread_id = w.thread_id
    AND o.checkpoint_ns = w.checkpoint_ns AND o.checkpoint_id = w.checkpoint_id AND o.task_id = w.task_id)
SELECT run_id FROM fence`;

/**
 * Keeps the state of several attempts, in one statement.
 * @returns the runs whose state was kept; the others belong to another attempt by now, or another transaction
 *   just holds them
 */
async function putStates(
  scope: WorkerScope,
  sql: Sql,
  states: readonly StateWrite[],
): Promise<ReadonlySet<string>> {
  const fences = new Map(states.map(({ fence }) => [fence.runId, fence.attempt]));
  const checkpoints = lastOf(
    states.flatMap(({ kind, fence: { runId }, dumped }) =>
      kind === 'checkpoint' ? [{ runId, ...dumped }] : [],
    ),
    ({ threadId, namespace, checkpointId }) => [threadId, namespace, checkpointId],
  );
  const blobs = checkpoints.flatMap(({ runId, threadId, namespace, blobs }) =>
    blobs.map((blob) => ({ runId, threadId, namespace, ...blob })),
  );
  const { rows } = await sql.asWorker<{ run_id: string }>(scope, {
    name: 'put-states',
    text: PUT_STATES,
    values: [
      [...fences.keys()],
      [...fences.values()],
      ...columns(blobs, ['runId', 'threadId', 'namespace', 'channel', 'version', 'type', 'bytes']),
      ...columns(checkpoints, [
        'runId',
        'threadId',
        'namespace',
        'checkpointId',
        'parentId',
        'checkpoint',
        'metadata',
      ]),
      ...writeColumns(states, false),
      ...writeColumns(states, true),
    ],
  });
  return new Set(rows.map((row) => row.run_id));
}

function writeColumns(states: readonly StateWrite[], replaces: boolean): unknown[][] {
  const rows = states.flatMap(({ kind, fence: { runId }, dumped }) =>
    kind === 'writes' && dumped.replaces === replaces
      ? dumped.writes.map((write) => ({ runId, ...dumped, ...write }))
      : [],
  );
  const placed = replaces
    ? lastOf(rows, (row) => [row.threadId, row.namespace, row.checkpointId, row.taskId, row.idx])
    : rows;
  return columns(placed, [
    'runId',
    'threadId',
    'namespace',
    'checkpointId',
    'taskId',
    'idx',
    'channel',
    'type',
    'blob',
    'taskPath',
  ]);
}

/** One statement cannot update a row twice: the last of each place counts. */
function lastOf<Row>(rows: readonly Row[], placeOf: (row: Row) => unknown[]): Row[] {
  return [...new Map(rows.map((row) => [JSON.stringify(placeOf(row)), row])).values()];
}

function columns<Row extends object>(rows: readonly Row[], names: readonly (keyof Row)[]): unknown[][] {
  return names.map((name) => rows.map((row) => row[name] ?? null));
}

/** Limit per statement; a larger checkpoint goes alone. */
const MAX_STATEMENT_BYTES = 4 * 1024 * 1024;

/**
 * Keeps checkpoints and writes of all runs of a process: those that come in while a statement is in flight
 * share the next one and its commit. A write that fails in a batch is tried alone, where it waits for the
 * holder of its run and fails by itself.
 */
export class StateWriter {
  readonly #batch: Batch<StateWrite, boolean | Promise<boolean>>;

  constructor(readonly sql: Sql) {
    this.#batch = new Batch((states) => this.#putAll(states), {
      maxBytes: MAX_STATEMENT_BYTES,
      bytesOf,
    });
  }

  /** Answers false when another attempt has the run. */
  async put(state: StateWrite): Promise<boolean> {
    return this.#batch.add(state);
  }

  async #putAll(states: readonly StateWrite[]): Promise<(state: StateWrite) => boolean | Promise<boolean>> {
    const together = ofOneAttempt(states);
    try {
      const kept = await putStates(WORKER, this.sql, [...together]);
      return (state) => (together.has(state) && kept.has(state.fence.runId)) || this.#putAlone(state);
    } catch (error) {
      if (mayPass(error)) throw error;
      return (state) => this.#putAlone(state);
    }
  }

  #putAlone(state: StateWrite): Promise<boolean> {
    return state.kind === 'checkpoint'
      ? putCheckpoint(WORKER, this.sql, state.fence, state.dumped)
      : putWrites(WORKER, this.sql, state.fence, state.dumped);
  }
}

/** An attempt that was overtaken in this very process may still write: one statement knows one attempt of a run. */
function ofOneAttempt(states: readonly StateWrite[]): ReadonlySet<StateWrite> {
  const attempts = new Map(states.map(({ fence }) => [fence.runId, fence.attempt]));
  return new Set(states.filter(({ fence }) => attempts.get(fence.runId) === fence.attempt));
}

function bytesOf(state: StateWrite): number {
  if (state.kind === 'writes') return state.dumped.writes.reduce((sum, { blob }) => sum + blob.length, 0);
  const { checkpoint, metadata, blobs } = state.dumped;
  return blobs.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), checkpoint.length + metadata.length);
}
