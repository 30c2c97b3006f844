import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#lib/telemetry';
import { answerOf } from './error-answer.js';

/** Answers an error; used by routes and by whatever fails before a route is reached. */
function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Logger): void {
  if (request.raw.socket.destroyed) {
    log.debug(
      { method: request.method, route: request.routeOptions.url },
      'caller disconnected before the answer',
    );
    return;
  }
  const answer = answerOf(error);
  if (answer.isOurs)
    log.error({ err: error, method: request.method, route: request.routeOptions.url }, 'request failed');
  if (answer.retryAfter !== undefined) void reply.header('retry-after', answer.retryAfter);
  void reply.status(answer.status).send(answer.body);
}

/** Maps whatever a route throws to HTTP. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly log: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendError(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), this.log);
  }
}
