import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { answerOf, DATABASE_UNAVAILABLE, type ErrorAnswer, STORAGE_FULL } from './error-answer.js';

/** A Postgres whose disk is full ends, and is in recovery for a while after there is space again. */
const FULL_FOR_MS = 60_000;

/** Maps whatever a route throws to HTTP. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  #fullUntilMs = -Infinity;

  constructor(
    private readonly log: Logger,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    if (request.raw.socket.destroyed) {
      this.log.debug(
        { method: request.method, route: request.routeOptions.url },
        'caller disconnected before the answer',
      );
      return;
    }
    const answer = this.#answerOf(error);
    if (answer.isOurs)
      this.log.error(
        { err: error, method: request.method, route: request.routeOptions.url },
        'request failed',
      );
    if (answer.retryAfter !== undefined) void reply.header('retry-after', answer.retryAfter);
    void reply.status(answer.status).send(answer.body);
  }

  /**
   * Answer to an error. Requests after the one that found the disk full find a database that is unavailable
   * for that reason.
   */
  #answerOf(error: unknown): ErrorAnswer {
    const answer = answerOf(error);
    const nowMs = this.clock.monotonicMs();
    if (answer === STORAGE_FULL) this.#fullUntilMs = nowMs + FULL_FOR_MS;
    return answer === DATABASE_UNAVAILABLE && nowMs < this.#fullUntilMs ? STORAGE_FULL : answer;
  }
}
