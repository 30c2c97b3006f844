import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';
import { AuthRefusal } from '../authorization/auth-user.js';
import { type CallerScope, EVERY_ROW } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { findThreadHead } from '../store/statement/threads.js';
import { authorize } from './caller-scope.js';
import { pathId } from './request-parts.js';

/** Milliseconds between two questions. */
const ASK_MS = 60_000;
/**
 * Failed checks in a row that end an answer: a handler may fail for a caller without rights, and an outage is
 * over by then.
 */
const MOST_UNANSWERED = 5;

/** Half the span of the last check: after an outage for all, the readers reconnect one after another. */
const SPREAD_MS = 20_000;

interface AskAgainParts {
  readonly clock: Clock;
  readonly sql: Sql;
  /** Number from 0 to 1. */
  readonly random?: () => number;
}

/**
 * Asks every minute whether a caller may still read a thread, while an answer without end lasts: keys are
 * revoked, tokens expire, and threads change owners. A failed check refuses nothing, for five minutes at
 * most. (Answers that end with their run are not checked again: cutting one may cancel the run.)
 * @param refused ends the answer
 */
export function askAgain(
  request: FastifyRequest,
  response: ServerResponse,
  refused: () => void,
  { clock, sql, random = Math.random }: AskAgainParts,
): void {
  if (response.closed) return;
  let isClosed = false;
  let unanswered = 0;
  const ask = async (): Promise<void> => {
    try {
      request.caller = await request.server.callerOf(request);
      const threadId = pathId(request, 'thread_id');
      const scope = await authorize(request, 'threads:read', { thread_id: threadId });
      if (scope.filter !== EVERY_ROW && (await isOfOthers(scope, sql, threadId))) return refused();
      unanswered = 0;
    } catch (error) {
      if (isRefusal(error) || ++unanswered >= MOST_UNANSWERED) return refused();
    }
    const isLast = unanswered === MOST_UNANSWERED - 1;
    const pauseMs = ASK_MS + (isLast ? (2 * random() - 1) * SPREAD_MS : 0);
    if (!isClosed) cancel = clock.after(pauseMs, () => void ask());
  };
  let cancel = clock.after(ASK_MS, () => void ask());
  response.once('close', () => {
    isClosed = true;
    cancel();
  });
}

/** A thread that does not exist belongs to no one: it may still be created. */
async function isOfOthers(scope: CallerScope, sql: Sql, threadId: string): Promise<boolean> {
  if (await findThreadHead(scope, sql, threadId)) return false;
  return (await findThreadHead({ ...scope, filter: EVERY_ROW }, sql, threadId)) !== undefined;
}

/** `too_many`: keys that were good a minute ago are always judged, so this one was refused since, by another answer. */
const REFUSALS: ReadonlySet<PublicError['code']> = new Set(['unauthenticated', 'forbidden', 'too_many']);

function isRefusal(error: unknown): boolean {
  if (error instanceof AuthRefusal) return error.status < 500;
  return error instanceof PublicError && REFUSALS.has(error.code);
}
