import { isJsonObject, type JsonObject } from '#lib/json';
import type { RunError, RunStatus } from '../row/run-row.js';
import { type Scope, visible } from '../scope.js';
import type { Sql } from '../sql.js';

/** Key of a run's metadata that makes it a task of the Model Context Protocol. */
export const TOOL_RUN_KEY = 'mcp';

/** Questions above this are not read: they would be parsed for each poll. */
const MAX_QUESTIONS_BYTES = 1024 * 1024;

/** A run that is a task of the Model Context Protocol. */
export interface ToolRun {
  readonly runId: string;
  readonly threadId: string;
  readonly status: RunStatus;
  readonly error: RunError | undefined;
  readonly cancelReason: string | undefined;
  /** Questions with which it stopped; undefined when it did not ask. */
  readonly questions: JsonObject | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface Row {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly error: RunError | null;
  readonly cancel_reason: string | null;
  readonly is_waiting: boolean;
  readonly interrupts: unknown;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Undefined for other runs, and for those that the caller may not see. */
export async function findToolRun(scope: Scope, sql: Sql, runId: string): Promise<ToolRun | undefined> {
  const { rows } = await sql.inScope<Row>(scope, {
    name: 'find-tool-run',
    text: `SELECT r.run_id, r.thread_id, r.status, r.error, r.cancel_reason, r.created_at, r.updated_at,
        r.status = 'success' AND t.status = 'interrupted' AS is_waiting,
        CASE WHEN octet_length(t.interrupts::text) <= ${MAX_QUESTIONS_BYTES} THEN t.interrupts END AS interrupts
      FROM agentplane.runs r JOIN agentplane.threads t ON t.thread_id = r.thread_id
      WHERE r.run_id = $2 AND NOT r.temporary AND r.metadata ? '${TOOL_RUN_KEY}' AND ${visible('t.metadata')}`,
    values: [runId],
  });
  return rows.map((row) => ({
    runId: row.run_id,
    threadId: row.thread_id,
    status: row.status,
    error: row.error ?? undefined,
    cancelReason: row.cancel_reason ?? undefined,
    questions: row.is_waiting ? (isJsonObject(row.interrupts) ? row.interrupts : {}) : undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }))[0];
}
