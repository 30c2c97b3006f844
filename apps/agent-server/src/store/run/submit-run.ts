import { PublicError } from '#lib/errors';
import { jsonbText, jsonText } from '../json-text.js';
import { outlineText } from '../row/run-outline.js';
import { MAX_WAITING_ON_THREAD } from '../functions/submit-run.js';
import type { QueuedRun, Queueing } from '../row/queued-run.js';
import type { StoredRun } from '../row/stored-run.js';
import { threadNotFound } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';
import { isUniqueViolation } from '../unique-violation.js';

const SUBMIT = `SELECT outcome, new_status, made_at
  FROM agentplane.submit_run($1::jsonb[], $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`;

/** Above it a statement is limited like a transaction: one caller's must not have all connections. */
const LARGE_CHARS = 256 * 1024;

interface Submitted {
  readonly outcome: 'created' | 'busy' | 'full' | 'no_thread' | 'forbidden';
  readonly new_status: QueuedRun['status'];
  readonly made_at: Date;
}

/**
 * Makes a run on a thread. It starts at once (`running`, the lease is ours) when requested and no other is
 * before it.
 * @param kwargs its text, when it is made already
 * @throws PublicError `not_found` without such a thread, `conflict` when the strategy is `reject` and a run
 *   is active, `too_many` at the limit of waiting runs, `forbidden` when a thread made for it would be
 *   outside of the scope
 */
export async function submitRun(
  scope: Scope,
  sql: Sql,
  server: ServerIdentity,
  run: StoredRun,
  queueing: Queueing,
  kwargs = jsonText(run.kwargs),
): Promise<QueuedRun> {
  try {
    return await submit(scope, sql, server, run, queueing, kwargs);
  } catch (error) {
    // Another server has just taken a delayed run of the thread: this one is queued
    if (queueing.startsHere && isUniqueViolation(error))
      return submit(scope, sql, server, run, { ...queueing, startsHere: false }, kwargs);
    throw error;
  }
}

async function submit(
  scope: Scope,
  sql: Sql,
  { serverId, leaseMs }: ServerIdentity,
  run: StoredRun,
  queueing: Queueing,
  kwargs: string,
): Promise<QueuedRun> {
  const { rows } = await sql.inScope<Submitted>(scope, {
    name: 'submit-run',
    takesTurn: queueing.newThread === undefined && kwargs.length > LARGE_CHARS,
    text: SUBMIT,
    values: [
      run.runId,
      run.threadId,
      run.assistantId,
      run.graphId,
      jsonbText(run.metadata),
      kwargs,
      queueing.strategy,
      queueing.delayMs,
      queueing.startsHere ? serverId : null,
      leaseMs,
      queueing.isWatched ? serverId : null,
      queueing.newThread !== undefined,
      jsonbText(queueing.newThread ?? {}),
      outlineText(run, kwargs),
    ],
    locks: run.threadId,
    mayCreate: queueing.newThread !== undefined,
  });
  const submitted = rows[0];
  if (!submitted) throw threadNotFound(run.threadId);
  switch (submitted.outcome) {
    case 'created':
      return { status: submitted.new_status, createdAt: submitted.made_at };
    case 'busy':
      throw new PublicError(
        'conflict',
        `Thread ${run.threadId} has an active run, and the multitask strategy of the new one is "reject"`,
      );
    case 'full':
      throw new PublicError(
        'too_many',
        `Thread ${run.threadId} has ${MAX_WAITING_ON_THREAD} runs that wait or are at work, as many as it may; cancel some, or retry once some have ended`,
      );
    case 'forbidden':
      throw new PublicError(
        'forbidden',
        `Thread ${run.threadId}: its metadata is outside what this caller may access`,
      );
    case 'no_thread':
      throw threadNotFound(run.threadId);
    default:
      return submitted.outcome satisfies never;
  }
}
