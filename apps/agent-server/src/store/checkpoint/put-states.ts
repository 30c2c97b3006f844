import type { Fence } from '../row/fence.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import type { DumpedCheckpoint } from './put-checkpoint.js';
import { ERROR_IDX, type DumpedWrites } from './put-writes.js';

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
const PUT = `
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
export async function putStates(
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
    text: PUT,
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
