import type http from 'node:http';
import https from 'node:https';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { pipeline, Transform } from 'node:stream';
import { proxyFor } from '#lib/config';
import { boundInterim } from '#lib/http';
import { AddressGuard, proxyAgent, type Refusal, type Resolve } from '#lib/outbound';
import { systemClock } from '#lib/time';
import { EndpointRefusedError, ObjectStoreError, RequestError, storeSentence } from './object-store-error.js';

const NEVER = 'no object store can have this address';
const PRIVATE =
  'it is a private or loopback address; the operator of the platform can allow these for all destinations by setting ' +
  'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS=true, allowPrivateEndpoints of the chart';

/** Decides which endpoints of destinations may be dialled: tenants write them. */
export class EndpointGuard extends AddressGuard {
  constructor(allowPrivate: boolean, resolve?: Resolve) {
    super({ allowPrivate, refuse: refusalOf, ...(resolve ? { resolve } : {}) });
  }
}

function refusalOf(why: Refusal): ObjectStoreError {
  switch (why) {
    case 'private':
      return new EndpointRefusedError('PrivateEndpoint', PRIVATE);
    case 'never':
      return new EndpointRefusedError('InvalidEndpoint', NEVER);
    case 'unresolved':
      return new ObjectStoreError('ENOTFOUND', 'resolve the name of the endpoint');
    default:
      return why satisfies never;
  }
}

/** A page of a thousand keys as long as they may be, and escaped. */
const MAX_TEXT_BYTES = 8 << 20;
/** Maximum size of an error answer. */
const MAX_ERROR_BYTES = 64 << 10;

/**
 * The answer as the client may read it. The client collects all but the bytes of an object in memory before
 * it examines them, and the author of the endpoint may answer without end: an answer that is longer than a
 * store's ends with an error. For an error the client gets only the words that it examines, since it parses
 * the rest in time that grows with the square of it.
 */
function boundedAnswer(answer: IncomingMessage, options: RequestOptions): IncomingMessage {
  const { method, path } = options;
  const { statusCode = 0, headers } = answer;
  const isGood = statusCode >= 200 && statusCode < 300;
  if (isGood && method === 'GET' && !path?.includes('?')) return answer;
  let left = isGood ? MAX_TEXT_BYTES : MAX_ERROR_BYTES;
  const error: Buffer[] = [];
  const bounded = new Transform({
    transform(piece: Buffer, _encoding, done) {
      left -= piece.length;
      if (left < 0) return done(new RequestError('NotAnObjectStore', method ?? 'GET'));
      if (isGood) return done(null, piece);
      error.push(piece);
      done();
    },
    flush(done) {
      if (error.length === 0 && !NAMELESS.has(statusCode)) return done();
      done(null, shortError(Buffer.concat(error).toString(), statusCode, options));
    },
  });
  bounded.on('error', () => undefined); // the stream may no longer be read
  pipeline(answer, bounded, () => undefined);
  // the headers that the client reads beside the bytes
  return Object.assign(bounded, { statusCode, headers }) as Transform & IncomingMessage;
}

/** Refusals for which the client has no code if the body has none. */
const NAMELESS: ReadonlyMap<number, string> = new Map([
  [401, 'Unauthorized'],
  [403, 'AccessDenied'],
]);

/** Code, region and sentence of an error, if it is one of a store, and the status. */
function shortError(text: string, status: number, options: RequestOptions): string {
  const isError = /<Error[\s>]/.test(text);
  const found = [/<Code>[^<]{1,64}<\/Code>/, /<Region>[\w-]{1,64}<\/Region>/].map((one) =>
    isError ? one.exec(text)?.[0] : undefined,
  );
  const nameless = NAMELESS.get(status);
  if (found[0] === undefined && nameless !== undefined) found[0] = `<Code>${nameless}</Code>`;
  const sentence = isError ? storeSentence(text, options) : undefined;
  if (sentence !== undefined) found.push(`<Message>${escape(sentence)}</Message>`);
  return `<Error>${found.join('')}<Status>${status}</Status></Error>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

// not by `import`: that reads every export of it, and one of them loads Node's WebSocket client, 6 MB and 60 ms
const plainHttp = process.getBuiltinModule('node:http');

type Callback = (response: http.IncomingMessage) => void;

const MAX_SOCKETS = 16;
/** A request may wait for one of them for so many times as long as nothing may move on it: others are read meanwhile. */
const WAITING = 4;

/** Errors of a server may pass, those of proxies before it (520 to 529, 507, 509) too; 501 never does. */
const isBusy = (status: number): boolean =>
  status === 408 || status === 429 || (status >= 500 && status !== 501);

/**
 * Transport for the client's requests. Instead of the client's own habits (console output, one retry,
 * forgotten bodies) an answer that says "busy" becomes an error with the store's code, and a connection
 * without progress for too long is closed, and so is an answer that is longer than any of a store. Redirects
 * are never followed, and the guard checks every address that is dialled.
 */
export class Transport {
  readonly agent: http.Agent;
  /** Proxies by URL. */
  readonly #proxies = new Map<string, http.Agent>();
  /** The client hands no signal on. */
  readonly #ending = new AsyncLocalStorage<AbortSignal>();
  #isClosed = false;

  constructor(
    private readonly isTls: boolean,
    private readonly timeoutMs: number,
    private readonly guard: EndpointGuard,
  ) {
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS, lookup: guard.lookup };
    this.agent = isTls ? new https.Agent(options) : new plainHttp.Agent(options);
  }

  /** `http.request` in the one form that the client uses: options, then the reader of the answer. */
  readonly request: typeof http.request = (
    options: http.RequestOptions | string | URL,
    callback?: http.RequestOptions | Callback,
  ): http.ClientRequest => {
    if (typeof options === 'string' || options instanceof URL || typeof callback !== 'function')
      throw new TypeError('a request to an object store takes options and a callback');
    const method = options.method ?? 'GET';
    if (this.#isClosed) throw new RequestError('Closed', method);
    const host = options.hostname ?? options.host ?? '';
    this.guard.checkHost(host);
    const request = (this.isTls ? https : plainHttp).request(
      { ...options, agent: this.#agentFor(host, Number(options.port ?? (this.isTls ? 443 : 80))) },
      (response) => {
        if (!isBusy(response.statusCode ?? 0)) return callback(boundedAnswer(response, options));
        void readError(response, options).then(({ code, sentence }) => {
          const status = response.statusCode;
          request.emit('error', new RequestError(code, method, true, { sentence, status }));
        });
      },
    );
    // without a listener Node drops such an answer, and nothing would ever come of the request
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      request.emit('error', new RequestError('NotAnObjectStore', method));
    });
    boundInterim(request, new RequestError('NotAnObjectStore', method));
    request.setTimeout(this.timeoutMs, () => {
      request.destroy(new RequestError('ETIMEDOUT', method));
    });
    limitWait(request, WAITING * this.timeoutMs, new RequestError('ETIMEDOUT', method));
    const signal = this.#ending.getStore();
    if (signal) endWith(signal, request, new RequestError('Aborted', method));
    return request;
  };

  /** Requests that `work` makes end with the signal. */
  endedBy<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#ending.run(signal, work);
  }

  /** Ends the requests in flight; nothing is tried again. */
  close(): void {
    this.#isClosed = true;
    for (const agent of [this.agent, ...this.#proxies.values()]) agent.destroy();
  }

  #agentFor(host: string, port: number): http.Agent {
    const proxy = proxyFor({ host, port, isTls: this.isTls });
    if (proxy === undefined) return this.agent;
    const agent = this.#proxies.get(proxy) ?? proxyAgent(proxy, this.isTls, this.guard);
    this.#proxies.set(proxy, agent);
    return agent;
  }
}

/** The time limit of Node's requests begins with their connection. */
function limitWait(request: http.ClientRequest, ms: number, why: Error): void {
  const cancel = systemClock.after(ms, () => endRequest(request, why));
  request.once('socket', cancel);
  request.once('close', cancel);
}

/** Ends a request. Without a connection Node would report the error only once the request gets one. */
function endRequest(request: http.ClientRequest, why: Error): void {
  const isWaiting = !request.socket;
  request.destroy(why);
  if (isWaiting) request.emit('error', why);
}

/** Ends a request with the signal, before it is sent, before it is answered, and while its answer is read. */
function endWith(signal: AbortSignal, request: http.ClientRequest, why: Error): void {
  const end = (): void => endRequest(request, why);
  if (signal.aborted) return end();
  signal.addEventListener('abort', end, { once: true });
  request.once('close', () => signal.removeEventListener('abort', end));
}

async function readError(
  response: http.IncomingMessage,
  options: http.RequestOptions,
): Promise<{ readonly code: string; readonly sentence: string | undefined }> {
  let text = '';
  try {
    for await (const piece of response) {
      text += String(piece);
      if (text.length > MAX_ERROR_BYTES) break;
    }
  } catch {
    // the code of half a body is as good as none
  }
  const code = /<Code>(\w[\w.]{0,63})<\/Code>/.exec(text)?.[1];
  if (code === undefined) return { code: codeOfStatus(response.statusCode), sentence: undefined };
  return { code, sentence: storeSentence(text, options) };
}

/**
 * Code of a status. Only 429 and 503 mean that nothing was done: behind a 502 or 504 of a proxy the store may
 * have done it.
 */
function codeOfStatus(status: number | undefined): string {
  if (status === 408) return 'RequestTimeout';
  if (status === 507) return 'InsufficientStorage';
  return status === 429 || status === 503 ? 'ServiceUnavailable' : 'InternalError';
}
