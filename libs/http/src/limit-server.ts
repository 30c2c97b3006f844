import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { type Clock, systemClock } from '#lib/time';
import { boundPipelining, TOO_MANY_UNANSWERED } from './bound-pipelining.js';
import { BodyWatch } from './body-watch.js';
import { AnswerWatch } from './answer-watch.js';
import { cutSocket } from './cut-socket.js';
import { pathShape } from './path-shape.js';
import { SERVER_LIMITS, type ServerLimits } from './server-limits.js';

/** A connection that was ended because its client was too slow. */
export interface Cut {
  /**
   * `body`: it did not send what it had announced; `answer`: it did not read; `unread`: so with much, or many others;
   * `unanswered`: it asked for more and more without waiting for answers.
   */
  readonly kind: 'body' | 'answer' | 'unread' | 'unanswered';
  /** Reason for closing the connection. */
  readonly reason: string;
  readonly method: string;
  /** Its words, as of `pathShape`: paths may hold tokens. */
  readonly path: string;
}

export interface LimitOptions {
  readonly limits?: ServerLimits;
  /** Limits of one request, where it has others. */
  readonly limitsOf?: (request: IncomingMessage) => ServerLimits | undefined;
  readonly clock?: Clock;
  /** True when the clients of a request are limited here; all are by default. */
  readonly concerns?: (request: IncomingMessage) => boolean;
  /** Called once for each connection that is cut. */
  readonly onCut?: (cut: Cut) => void;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: BodyWatch;
  readonly answer: AnswerWatch;
}

/**
 * Number of intervals: a check that comes so much too late shows that this process was blocked, and nothing
 * about clients.
 */
const LATE_CHECKS = 2;

/**
 * Cuts clients that stop in the middle of a body, or of reading an answer, or that do not wait for answers. Headers are Node's affair: the server must be
 * made with `serverOptions` of the same limits. A request at work, an answer without an end that is read, and a
 * connection that became something else (`Upgrade`) may last as long as they like.
 */
export function limitServer(server: Server | TlsServer, options: LimitOptions = {}): void {
  const { limits = SERVER_LIMITS, clock = systemClock, limitsOf, concerns = () => true, onCut } = options;
  const exchanges = new Set<Exchange>();
  boundPipelining(server, (request, reason) => {
    onCut?.({ kind: 'unanswered', reason, ...lineOf(request) });
    refuse(server, request, TOO_MANY_UNANSWERED, reason);
  });

  function look(exchange: Exchange, nowMs: number): void {
    const { request, response, body, answer } = exchange;
    const own = limitsOf?.(request) ?? limits;
    const stalledBody = body.look(nowMs, own);
    const stalledAnswer = stalledBody === undefined ? answer.look(nowMs, own) : undefined;
    const reason = stalledBody ?? stalledAnswer;
    if (reason === undefined) return;
    exchanges.delete(exchange);
    const kind = stalledBody === undefined ? 'answer' : 'body';
    onCut?.({ kind, reason, ...lineOf(request) });
    if (kind === 'body' && !response.headersSent)
      refuse(server, request, 'ERR_HTTP_REQUEST_TIMEOUT', 'the body of the request did not arrive in time');
    else if (kind === 'body' && response.writableFinished) request.socket.destroySoon();
    else cutSocket(request.socket);
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!concerns(request)) return;
    const nowMs = clock.monotonicMs();
    const exchange = {
      request,
      response,
      body: new BodyWatch(request, response, nowMs),
      answer: new AnswerWatch(response, nowMs),
    };
    exchanges.add(exchange);
    const leave = (): void => {
      if (response.closed && (request.complete || request.destroyed)) exchanges.delete(exchange);
    };
    request.once('close', leave);
    response.once('close', leave);
  });

  let lastMs = clock.monotonicMs();
  const check = (): void => {
    const nowMs = clock.monotonicMs();
    const isLate = nowMs - lastMs > (LATE_CHECKS + 1) * limits.checkMs;
    lastMs = nowMs;
    for (const exchange of exchanges)
      if (isLate) {
        exchange.body.forgive(nowMs);
        exchange.answer.forgive(nowMs);
      } else look(exchange, nowMs);
    cancel = clock.after(limits.checkMs, check);
  };
  let cancel = clock.after(limits.checkMs, check);
  server.once('close', () => cancel());
}

function lineOf({ method = '', url = '' }: IncomingMessage): Pick<Cut, 'method' | 'path'> {
  return { method, path: pathShape(url) };
}

/**
 * Refuses a request as Node refuses a broken one: past the framework, in the shape that the server gives to
 * broken ones.
 */
function refuse(
  server: Server | TlsServer,
  { socket }: IncomingMessage,
  code: string,
  message: string,
): void {
  if (server.emit('clientError', Object.assign(new Error(message), { code }), socket)) return;
  const line = code === TOO_MANY_UNANSWERED ? '503 Service Unavailable' : '408 Request Timeout';
  socket.write(`HTTP/1.1 ${line}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  socket.destroySoon();
}
