import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { type Clock, systemClock } from '#lib/time';
import { boundPipelining, TOO_MANY_UNANSWERED } from './bound-pipelining.js';
import { cutSocket } from './cut-socket.js';
import { SERVER_LIMITS, type ServerLimits } from './server-limits.js';

/** Words of which paths are made. Ids and tokens have digits or upper-case letters, or are longer. */
const WORD = /^[a-z][a-z_.-]{0,23}$|^v\d{1,2}$|^$/;

/** Maximum number of segments, more than any route has. */
const MAX_SEGMENTS = 12;

/**
 * Shape of a path for log lines, without the query: segments that are not words become `*`. Paths may contain
 * secrets: tokens of shared traces, of hooks, and any data in an agent's own routes.
 */
export function pathShape(url: string): string {
  const segments = (url.split('?', 1)[0] ?? '').split('/');
  const shown = segments.slice(0, MAX_SEGMENTS).map((segment) => (WORD.test(segment) ? segment : '*'));
  return [...shown, ...(segments.length > MAX_SEGMENTS ? ['…'] : [])].join('/');
}

/** Progress of the body of one request. */
class BodyWatch {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #bytesBefore: number;
  #bytes: number;
  #progressMs: number;
  #lastMs: number;
  /** Time in which the client was the one to be waited for. */
  #waitedMs = 0;

  constructor(request: IncomingMessage, response: ServerResponse, nowMs: number) {
    this.#request = request;
    this.#response = response;
    this.#bytesBefore = request.socket.bytesRead;
    this.#bytes = this.#bytesBefore;
    this.#progressMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** The time until now does not count. */
  forgive(nowMs: number): void {
    this.#progressMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** @returns the problem; undefined while the client may continue */
  look(nowMs: number, limits: ServerLimits): string | undefined {
    const request = this.#request;
    if (request.complete || request.destroyed) return undefined;
    const passedMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    const { bytesRead } = request.socket;
    // bytes that were not taken yet: this side is the slow one, unless it has answered and reads no more
    const isOwnDelay = request.readableLength > 0 && !this.#response.writableFinished;
    if (bytesRead !== this.#bytes || isOwnDelay) this.#progressMs = nowMs;
    this.#bytes = bytesRead;
    if (isOwnDelay) return undefined;
    this.#waitedMs += passedMs;
    const idleMs = nowMs - this.#progressMs;
    if (idleMs >= limits.bodyIdleMs) return `no byte of the body for ${seconds(idleMs)} s`;
    if (this.#waitedMs >= limits.bodyTotalMs)
      return `the body did not end within ${seconds(limits.bodyTotalMs)} s`;
    const rate = ((bytesRead - this.#bytesBefore) / Math.max(1, this.#waitedMs)) * 1000;
    if (this.#waitedMs >= limits.bodyIdleMs && rate < limits.bodyBytesPerSecond)
      return `the body came with ${rate.toFixed(1)} bytes/s, less than ${limits.bodyBytesPerSecond}`;
    return undefined;
  }
}

function seconds(ms: number): string {
  return String(Math.round(ms / 100) / 10);
}

/** Progress of a client in reading the answer to one request. */
class AnswerWatch {
  readonly #response: ServerResponse;
  #progressMs: number;
  #lastMs: number;
  /** Bytes taken at the last check; undefined when nothing waited for the client then. */
  #taken: number | undefined;
  /**
   * Measurements of the current window: time in which bytes waited at each check, and bytes that the client
   * took in it.
   */
  #waitedMs = 0;
  #takenBytes = 0;

  constructor(response: ServerResponse, nowMs: number) {
    this.#response = response;
    this.#progressMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** The time until now does not count. */
  forgive(nowMs: number): void {
    this.#progressMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** @returns the problem; undefined while the client may continue */
  look(nowMs: number, limits: ServerLimits): string | undefined {
    const { socket, writableLength } = this.#response;
    const [before, passedMs] = [this.#taken, nowMs - this.#lastMs];
    this.#lastMs = nowMs;
    // without a socket the answer waits for an earlier one on the same connection
    const taken = socket && writableLength > 0 ? takenBy(socket) : undefined;
    this.#taken = taken;
    if (taken !== before || taken === undefined) this.#progressMs = nowMs;
    if (taken === undefined || before === undefined) {
      this.#beginWindow();
      return undefined;
    }
    this.#waitedMs += passedMs;
    this.#takenBytes += taken - before;
    const idleMs = nowMs - this.#progressMs;
    if (idleMs >= limits.answerStallMs)
      return `nothing read for ${Math.round(idleMs / 1000)} s; ${writableLength} bytes of the answer were unsent`;
    if (this.#waitedMs < limits.answerStallMs) return undefined;
    const rate = (this.#takenBytes / Math.max(1, this.#waitedMs)) * 1000;
    this.#beginWindow();
    if (rate >= limits.answerBytesPerSecond) return undefined;
    return `the answer was read with ${rate.toFixed(1)} bytes/s, less than ${limits.answerBytesPerSecond}; ${writableLength} bytes were unsent`;
  }

  #beginWindow(): void {
    [this.#waitedMs, this.#takenBytes] = [0, 0];
  }
}

/**
 * Number of bytes that the kernel has got for the client. The rest of the write at work is Node's own measure
 * for time-outs and not public; without it one large write counts as no progress.
 */
export function takenBy(socket: Socket): number {
  const { _handle: handle } = socket as Socket & {
    readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number };
  };
  return (handle?.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0);
}

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

  let cancel: (() => void) | undefined;
  let lastMs = 0;
  // only while it has requests: a machine has a server for each deployment, and most of them sleep
  const checkLater = (): void => {
    lastMs = clock.monotonicMs();
    cancel = exchanges.size === 0 ? undefined : clock.after(limits.checkMs, check);
  };
  const check = (): void => {
    const nowMs = clock.monotonicMs();
    const isLate = nowMs - lastMs > (LATE_CHECKS + 1) * limits.checkMs;
    for (const exchange of exchanges)
      if (isLate) {
        exchange.body.forgive(nowMs);
        exchange.answer.forgive(nowMs);
      } else look(exchange, nowMs);
    checkLater();
  };

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
    if (!cancel) checkLater();
    const leave = (): void => {
      if (response.closed && (request.complete || request.destroyed)) exchanges.delete(exchange);
    };
    request.once('close', leave);
    response.once('close', leave);
  });
  server.once('close', () => cancel?.());
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
