import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { answerOf } from './error-answer.js';

/** Set by `@RouteConfig` on routes whose answers need no counting here. */
interface AnswerRoute {
  /** The route counts its answer by itself, or all its answers share the same bytes. */
  readonly countsAnswer?: boolean;
}

/** Smaller answers fit into the kernel's buffers of any connection. */
const MIN_COUNTED_BYTES = 16_384;

const READS = new Set(['GET', 'HEAD']);

export interface AnswerCount {
  readonly budget: Admission;
  /** Owner of the answer. */
  readonly ownerOf: (request: FastifyRequest) => string | undefined;
}

/**
 * Counts the memory of answers from when they are made until their callers have read them. Beyond the limit a
 * read is answered 429; the result of a change is always reported.
 */
export function countAnswers(server: FastifyInstance, { budget, ownerOf }: AnswerCount): void {
  server.addHook('onSend', async (request, reply, payload) => {
    const bytes = sizeOf(payload);
    const { countsAnswer = false } = request.routeOptions.config as AnswerRoute;
    if (bytes < MIN_COUNTED_BYTES || countsAnswer || reply.raw.destroyed) return payload;
    const account = budget.open(ownerOf(request));
    try {
      account.hold(bytes);
    } catch (error) {
      if (!READS.has(request.method) || !(error instanceof PublicError)) return payload;
      return refuse(reply, error);
    }
    reply.raw.once('close', () => account.keep(0));
    return payload;
  });
}

function sizeOf(payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  return Buffer.isBuffer(payload) ? payload.length : 0;
}

/** Past the filter of errors: the answer is under way already. */
function refuse(reply: FastifyReply, error: PublicError): string {
  const { status, body, retryAfter } = answerOf(error);
  void reply.code(status).type('application/json; charset=utf-8').removeHeader('content-length');
  if (retryAfter !== undefined) void reply.header('retry-after', retryAfter);
  return JSON.stringify(body);
}
