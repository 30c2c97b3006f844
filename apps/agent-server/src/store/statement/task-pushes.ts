import { taskOf } from '../row/task-run.js';
import { type Scope, type WorkerScope, visible } from '../scope.js';
import type { Sql } from '../sql.js';

/** A receiver of notifications about one task. */
export interface StoredPush {
  readonly taskId: string;
  readonly configId: string;
  readonly threadId: string;
  readonly assistantId: string;
  /** Version of the protocol that the receiver reads. */
  readonly wire: '0.3' | '1.0';
  readonly url: string;
  readonly token: string | undefined;
  /** Parts of the header `Authorization`; both or neither. */
  readonly scheme: string | undefined;
  readonly credentials: string | undefined;
}

interface PushRow {
  readonly task_id: string;
  readonly config_id: string;
  readonly thread_id: string;
  readonly assistant_id: string;
  readonly wire: '0.3' | '1.0';
  readonly url: string;
  readonly token: string | null;
  readonly scheme: string | null;
  readonly credentials: string | null;
}

const COLUMNS =
  'p.task_id, p.config_id, p.thread_id, p.assistant_id, p.wire, p.url, p.token, p.scheme, p.credentials';

function storedPush(row: PushRow): StoredPush {
  return {
    taskId: row.task_id,
    configId: row.config_id,
    threadId: row.thread_id,
    assistantId: row.assistant_id,
    wire: row.wire,
    url: row.url,
    token: row.token ?? undefined,
    scheme: row.scheme ?? undefined,
    credentials: row.credentials ?? undefined,
  };
}

const PUSH_IS_VISIBLE = `EXISTS (SELECT 1 FROM agentplane.threads t WHERE t.thread_id = p.thread_id AND ${visible('t.metadata')})`;

/** Receivers of a task, oldest first; empty when the caller may not see the task. */
export async function listPushes(scope: Scope, sql: Sql, taskId: string): Promise<StoredPush[]> {
  const { rows } = await sql.inScope<PushRow>(scope, {
    text: `SELECT ${COLUMNS} FROM agentplane.task_pushes p WHERE p.task_id = $2 AND ${PUSH_IS_VISIBLE}
      ORDER BY p.created_at, p.config_id`,
    values: [taskId],
  });
  return rows.map(storedPush);
}

/** Limit per task. */
export const MAX_PUSHES = 10;

const UPSERT = `
INSERT INTO agentplane.task_pushes AS p (task_id, config_id, thread_id, assistant_id, wire, url, token, scheme, credentials)
  SELECT $2::uuid, $3, t.thread_id, $5::uuid, $6, $7, $8, $9, $10 FROM agentplane.threads t
  WHERE t.thread_id = $4 AND ${visible('t.metadata')}
    AND (SELECT count(*) FROM agentplane.task_pushes o WHERE o.task_id = $2 AND o.config_id <> $3) < ${MAX_PUSHES}
ON CONFLICT (task_id, config_id) DO UPDATE SET wire = EXCLUDED.wire, url = EXCLUDED.url, token = EXCLUDED.token,
  scheme = EXCLUDED.scheme, credentials = EXCLUDED.credentials
RETURNING p.task_id`;

/** Pending calls go to the new address; their credentials are read with it. */
const MOVE_CALLS = `
UPDATE agentplane.webhooks w SET url = p.url FROM agentplane.task_pushes p
WHERE w.push_task = $2 AND w.push_config = $3 AND w.state = 'pending' AND p.task_id = $2 AND p.config_id = $3
  AND ${PUSH_IS_VISIBLE}`;

/** Changes that the new receiver has missed are one call. */
const CATCH_UP = `
SELECT agentplane.note_pushes(newest.thread_id, $2::text, newest.status, $3) FROM (
  SELECT r.thread_id, r.status FROM agentplane.runs r
    JOIN agentplane.task_pushes p ON p.thread_id = r.thread_id AND p.task_id = $2::uuid AND p.config_id = $3
  WHERE r.metadata ? 'a2a' AND ${taskOf('r')} = $2::text AND ${PUSH_IS_VISIBLE}
  ORDER BY r.ordinal DESC LIMIT 1) newest
WHERE newest.status <> 'pending'`;

/**
 * Adds a receiver to a task, or replaces the one with its id. The end of a run waits for the row of its thread,
 * which is held meanwhile: it either sees the receiver or is seen here.
 * @param catchesUp whether the receiver is called about a status that the task has already
 * @returns false when the task has as many receivers as it may have
 */
export async function setPush(
  scope: Scope,
  sql: Sql,
  push: StoredPush,
  { catchesUp }: { readonly catchesUp: boolean },
): Promise<boolean> {
  const { taskId, configId, threadId, assistantId, wire, url, token, scheme, credentials } = push;
  return sql.transaction(
    scope,
    async (inside) => {
      await inside.inScope(scope, {
        text: `SELECT 1 FROM agentplane.threads t WHERE t.thread_id = $2 AND ${visible('t.metadata')} FOR UPDATE`,
        values: [threadId],
      });
      const secrets = [token ?? null, scheme ?? null, credentials ?? null];
      const values = [taskId, configId, threadId, assistantId, wire, url, ...secrets];
      const { rows } = await inside.inScope(scope, { text: UPSERT, values });
      if (rows.length === 0) return false;
      await inside.inScope(scope, { text: MOVE_CALLS, values: [taskId, configId] });
      if (catchesUp) await inside.inScope(scope, { text: CATCH_UP, values: [taskId, configId] });
      return true;
    },
    { locks: threadId },
  );
}

/** Removes a receiver with its pending calls. @returns false when the caller sees none */
export async function removePush(
  scope: Scope,
  sql: Sql,
  { taskId, configId }: Pick<StoredPush, 'taskId' | 'configId'>,
): Promise<boolean> {
  const { rowCount } = await sql.inScope(scope, {
    text: `DELETE FROM agentplane.task_pushes p WHERE p.task_id = $2 AND p.config_id = $3 AND ${PUSH_IS_VISIBLE}`,
    values: [taskId, configId],
  });
  return rowCount === 1;
}

/** A receiver that is to be called. */
export interface DuePush extends StoredPush {
  /** Status of the run when the call was noted. */
  readonly status: string;
}

/** Undefined once another server has repeated the call, or the receiver was removed. */
export async function readPush(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: { readonly runId: string; readonly attempt: number },
): Promise<DuePush | undefined> {
  const { rows } = await sql.asWorker<PushRow & { readonly push_status: string }>(scope, {
    text: `SELECT ${COLUMNS}, w.push_status FROM agentplane.webhooks w
      JOIN agentplane.task_pushes p ON p.task_id = w.push_task AND p.config_id = w.push_config
      WHERE w.run_id = $1 AND w.attempts = $2 AND w.state = 'pending'`,
    values: [runId, attempt],
  });
  return rows.map((row) => ({ ...storedPush(row), status: row.push_status }))[0];
}
