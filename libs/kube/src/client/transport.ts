import { systemClock, type Clock } from '#lib/time';
import { type Readable } from 'node:stream';
import { createSecureContext, type SecureContext } from 'node:tls';
import { type Dispatcher } from 'undici';
import request from 'undici/lib/api/api-request.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { KubeConnection } from '../connection/kube-connection.js';
import { KubeApiError } from './kube-api-error.js';
import { KubeUnreachableError } from './kube-unreachable-error.js';
import { parseStatus } from './parse-status.js';

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

const MAX_TRIES = 4;
/** Codes of failures that can only mean: this connection, not this request. */
const CONNECTION_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ECONNREFUSED']);

/**
 * HTTP towards one API server: two keep-alive pools (watches hold their connection for minutes and must not take those
 * of requests), TLS, authorization. JSON in and out, untouched. HTTP/1.1 on purpose: a watch then is one connection,
 * whose loss affects no other request.
 */
export class Transport {
  readonly #connection: KubeConnection;
  readonly #options: TransportOptions;
  readonly #clock: Clock;
  readonly #base: string;
  readonly #requests: Pool;
  readonly #streams: Pool;

  constructor(connection: KubeConnection, options: TransportOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const url = new URL(connection.server);
    this.#base = url.pathname.replace(/\/+$/, '');
    const context = url.protocol === 'https:' ? secureContextOf(connection) : undefined;
    this.#requests = openPool(connection, context, url.origin, 32);
    this.#streams = openPool(connection, context, url.origin, null);
  }

  /**
   * One request, one JSON answer. Retried: GETs whose connection broke, and whatever the server turned away with 429,
   * or with 503 and Retry-After in the case of GETs. Everything else is the caller's decision.
   * @throws KubeApiError when the server refused, KubeUnreachableError when there was no answer
   */
  async request(method: Method, path: string, options: RequestOptions = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(method, path, options);
      } catch (error) {
        const delayMs = attempt < MAX_TRIES ? retryDelayMs(error, method, attempt) : undefined;
        if (delayMs === undefined || options.signal?.aborted) throw error;
        await this.#clock.sleep(delayMs, options.signal);
      }
    }
  }

  /** A GET whose body is read as it comes. */
  async stream(path: string, options: StreamOptions): Promise<Readable> {
    const response = await this.#send(this.#streams, 'GET', path, {
      ...options,
      bodyTimeout: options.silentForMs,
    });
    if (response.statusCode >= 400) throw parseStatus(response.statusCode, await response.body.text());
    return response.body;
  }

  /** Closes idle connections and breaks busy ones. */
  async close(): Promise<void> {
    await Promise.all([this.#requests.destroy(), this.#streams.destroy()]);
  }

  async #once(method: Method, path: string, options: RequestOptions): Promise<unknown> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    const response = await this.#send(this.#requests, method, path, { ...options, signal });
    let text: string;
    try {
      text = await response.body.text();
    } catch (error) {
      throw new KubeUnreachableError(method, path, error);
    }
    if (response.statusCode >= 400)
      throw parseStatus(response.statusCode, text, response.headers['retry-after']);
    if (!isJson(response.headers['content-type'])) return text;
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new KubeUnreachableError(method, path, error);
    }
  }

  async #send(
    pool: Pool,
    method: Method,
    path: string,
    options: RequestOptions & { bodyTimeout?: number },
  ): Promise<Dispatcher.ResponseData> {
    const authorization = await this.#connection.auth.authorization();
    const headers: Record<string, string> = {
      accept: options.accept ?? 'application/json',
      'user-agent': this.#options.userAgent,
    };
    if (authorization !== undefined) headers.authorization = authorization;
    let body: string | undefined;
    if (options.body !== undefined) {
      body = JSON.stringify(options.body);
      headers['content-type'] = options.contentType ?? 'application/json';
    }
    try {
      return await request.call(pool, {
        method,
        path: this.#base + path + queryText(options.query),
        headers,
        ...(body === undefined ? {} : { body }),
        ...(options.signal ? { signal: options.signal } : {}),
        headersTimeout: this.#options.timeoutMs,
        bodyTimeout: options.bodyTimeout ?? this.#options.timeoutMs,
      });
    } catch (error) {
      throw new KubeUnreachableError(method, path, error);
    }
  }
}

/** One for all connections: each of its own would parse CA and key again, and keep them. */
function secureContextOf({ ca, clientCertificate, clientKey }: KubeConnection): SecureContext {
  return createSecureContext({
    ...(ca === undefined ? {} : { ca }),
    ...(clientCertificate === undefined ? {} : { cert: clientCertificate }),
    ...(clientKey === undefined ? {} : { key: clientKey }),
  });
}

function openPool(
  connection: KubeConnection,
  secureContext: SecureContext | undefined,
  origin: string,
  connections: number | null,
): Pool {
  return new Pool(origin, {
    connections,
    allowH2: false,
    keepAliveTimeout: 30_000,
    connect: {
      timeout: 10_000,
      // the kernel gives a dead peer up about 10 probes of 1 s after this
      keepAliveInitialDelay: 15_000,
      ...(secureContext === undefined ? {} : { secureContext }),
      ...(connection.tlsServerName === undefined ? {} : { servername: connection.tlsServerName }),
      ...(connection.insecureSkipTlsVerify ? { rejectUnauthorized: false } : {}),
    },
  });
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

function retryDelayMs(error: unknown, method: Method, attempt: number): number | undefined {
  if (error instanceof KubeApiError) {
    const asked = error.details.retryAfterSeconds;
    const isTurnedAway =
      error.code === 429 || (error.code === 503 && method === 'GET' && asked !== undefined);
    return isTurnedAway ? Math.min(10_000, (asked ?? 1) * 1000) : undefined;
  }
  if (method !== 'GET' || !(error instanceof KubeUnreachableError)) return undefined;
  return CONNECTION_CODES.has(error.code) ? 50 * 4 ** (attempt - 1) : undefined;
}
