import { parseJson } from '#lib/json';
import { systemClock, type Clock } from '#lib/time';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { KubeConnection } from '../connection/kube-connection.js';
import { HttpExchange, type Lane } from './http-exchange.js';
import { KubeApiError, KubeUnreachableError, parseStatus } from './kube-api-error.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface TransportOptions {
  readonly userAgent: string;
  /** Longest time in milliseconds for a whole answer, streams excepted. */
  readonly timeoutMs: number;
  readonly clock?: Clock;
}

export interface RequestOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

export interface StreamOptions {
  readonly query?: Query;
  readonly accept?: string;
  readonly signal?: AbortSignal;
  /** The stream fails when no byte comes for this long; 0 waits without a limit. */
  readonly silentForMs: number;
}

/** Content type of a server-side apply. */
export const APPLY = 'application/apply-patch+yaml';

const MAX_TRIES = 4;
/** Codes of failures that can only mean: this connection, not this request. */
const CONNECTION_CODES = new Set(['ECONNRESET', 'EPIPE', 'ECONNREFUSED']);

/**
 * HTTP towards one API server: two sets of keep-alive connections (watches hold theirs for minutes and must not take those
 * of requests), TLS, authorization. JSON in and out, untouched. HTTP/1.1 on purpose: a watch then is one connection,
 * whose loss affects no other request.
 */
export class Transport {
  readonly #clock: Clock;
  readonly #base: string;
  readonly #exchange: HttpExchange;

  constructor(
    private readonly connection: KubeConnection,
    private readonly options: TransportOptions,
  ) {
    this.#clock = options.clock ?? systemClock;
    this.#base = new URL(connection.server).pathname.replace(/(?<!\/)\/+$/, '');
    this.#exchange = new HttpExchange(connection);
  }

  /**
   * One request, one JSON answer. Retried: reads and server-side applies, which may be done twice, when their connection
   * broke or the server had an error of its own (5xx), and whatever the server turned away with 429. Everything else is the
   * caller's decision.
   * @throws KubeApiError when the server refused, KubeUnreachableError when there was no answer
   */
  async request(method: Method, path: string, options: RequestOptions = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(method, path, options);
      } catch (error) {
        const delayMs =
          attempt < MAX_TRIES ? retryDelayMs(error, isRepeatable(method, options), attempt) : undefined;
        if (delayMs === undefined || options.signal?.aborted) throw error;
        await this.#clock.sleep(delayMs, options.signal);
      }
    }
  }

  /** A GET whose body is read as it comes. */
  async stream(path: string, options: StreamOptions): Promise<Readable> {
    const response = await this.#send('streams', 'GET', path, {
      ...options,
      bodyTimeoutMs: options.silentForMs,
    });
    if (statusOf(response) >= 400) throw this.#refusal(response, await this.#textOf(response, 'GET', path));
    return response;
  }

  /** Closes idle connections and breaks busy ones. */
  close(): Promise<void> {
    this.#exchange.close();
    return Promise.resolve();
  }

  async #once(method: Method, path: string, options: RequestOptions): Promise<unknown> {
    const timeout = AbortSignal.timeout(this.options.timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    const response = await this.#send('requests', method, path, { ...options, signal });
    const text = await this.#textOf(response, method, path, signal);
    if (statusOf(response) >= 400) throw this.#refusal(response, text);
    if (!isJson(response.headers['content-type'])) return text;
    try {
      return parseJson(text);
    } catch (error) {
      throw new KubeUnreachableError(method, path, error);
    }
  }

  #refusal(response: IncomingMessage, text: string): KubeApiError {
    if (response.statusCode === 401) this.connection.auth.rejected?.();
    return parseStatus(statusOf(response), text, response.headers['retry-after']);
  }

  async #textOf(
    response: IncomingMessage,
    method: Method,
    path: string,
    signal?: AbortSignal,
  ): Promise<string> {
    response.setEncoding('utf8');
    let text = '';
    try {
      for await (const piece of response) text += piece as string;
    } catch (error) {
      throw new KubeUnreachableError(method, path, causeOf(error, signal));
    }
    return text;
  }

  async #send(
    lane: Lane,
    method: Method,
    path: string,
    options: RequestOptions & { bodyTimeoutMs?: number },
  ): Promise<IncomingMessage> {
    const authorization = await this.connection.auth.authorization();
    const headers: Record<string, string> = {
      accept: options.accept ?? 'application/json',
      'user-agent': this.options.userAgent,
    };
    if (authorization !== undefined) headers.authorization = authorization;
    let body: string | undefined;
    if (options.body !== undefined) {
      body = JSON.stringify(options.body);
      headers['content-type'] = options.contentType ?? 'application/json';
    }
    try {
      return await this.#exchange.send(lane, {
        method,
        path: this.#base + path + queryText(options.query),
        headers,
        ...(body === undefined ? {} : { body }),
        ...(options.signal ? { signal: options.signal } : {}),
        headTimeoutMs: this.options.timeoutMs,
        bodyTimeoutMs: options.bodyTimeoutMs ?? this.options.timeoutMs,
      });
    } catch (error) {
      throw new KubeUnreachableError(method, path, causeOf(error, options.signal));
    }
  }
}

function statusOf({ statusCode = 0 }: IncomingMessage): number {
  return statusCode;
}

/** A connection that was broken on purpose: its own error would read as one that broke by itself, and be tried again. */
function causeOf(error: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted ? signal.reason : error;
}

function queryText(query: Query | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined) parameters.append(name, String(value));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

function isJson(contentType: string | string[] | undefined): boolean {
  return typeof contentType === 'string' && contentType.startsWith('application/json');
}

function isRepeatable(method: Method, { contentType }: RequestOptions): boolean {
  return method === 'GET' || contentType === APPLY;
}

function retryDelayMs(error: unknown, canRepeat: boolean, attempt: number): number | undefined {
  const pauseMs = 50 * 4 ** (attempt - 1);
  if (error instanceof KubeApiError) {
    const asked = error.details.retryAfterSeconds;
    if (error.code === 429) return Math.min(10_000, (asked ?? 1) * 1000);
    if (!canRepeat || error.code < 500) return undefined;
    return asked === undefined ? pauseMs : Math.min(10_000, asked * 1000);
  }
  if (!canRepeat || !(error instanceof KubeUnreachableError)) return undefined;
  return CONNECTION_CODES.has(error.code) ? pauseMs : undefined;
}
