import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { setImmediate } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import type { Place } from '#lib/admission';
import { errorText } from '#lib/errors';
import { claimAddress } from '#lib/held-sockets';
import {
  answerBrokenRequests,
  boundConnections,
  closeServer,
  ConnectionRoom,
  limitServer,
  listenOn,
  protectAnswer,
  SERVER_LIMITS,
  type ServerLimits,
  serverOptions,
} from '#lib/http';
import { parseExactJson } from '#lib/json';
import { ApiError, badRequest, internalError } from '#lib/kube-semantics';
import { type Logger, recordCuts, REQUEST_ID_HEADER, requestId, withLogFields } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { MASTERS, type UserInfo } from '../authn/user.js';
import { AnswerStreams } from './answer-streams.js';
import type { Audit } from './audited-request.js';
import { FairTurns } from './fair-turns.js';
import { bodyBudget, parseAccept, readBody } from './request-body.js';
import type { Handler, Reply, RequestContext } from './request-context.js';
import { type KnowsResource, observeRequest, parseRequestInfo } from './request-info.js';
import {
  bodyLimits,
  type FindListeners,
  holderOf,
  MAX_CONNECTIONS,
  requestLimits,
  RequestPots,
} from './request-pots.js';
import { piecesOf, writePieces } from './write-parts.js';

/** Limits that Kubernetes has for one warning and for all. */
const MAX_CHARS = 256;
const MAX_ALL_CHARS = 4_096;

/** Values of the header `Warning`. Texts hold names of fields, which callers choose: any character, at any length. */
function warningHeader(warnings: readonly string[]): string[] {
  const values: string[] = [];
  let left = MAX_ALL_CHARS;
  for (const text of new Set(warnings)) {
    const value = `299 - "${quoted(text)}"`;
    left -= value.length;
    if (left < 0) break;
    values.push(value);
  }
  return values;
}

function quoted(text: string): string {
  // a character has two units at most; texts may have megabytes
  const short = [...text.slice(0, 2 * MAX_CHARS).toWellFormed()].slice(0, MAX_CHARS).join('');
  const escaped = short.replace(/\p{Cc}/gu, ' ').replaceAll(/["\\]/g, '\\$&');
  // a header has bytes: those of UTF-8, as Go writes them
  return Buffer.from(escaped).toString('latin1');
}

/** Says who makes a request; throws 401 when credentials are given that are not good. */
export type Authenticate = (request: IncomingMessage) => Promise<UserInfo>;

export interface TlsListenerOptions {
  readonly key: string;
  readonly certificate: string;
  readonly clientCa: string;
  readonly authenticate: Authenticate;
  readonly findListeners: FindListeners;
  readonly handler: Handler;
  readonly knowsResource: KnowsResource;
  readonly audit: Audit;
  readonly log: Logger;
  readonly clock: Clock;
  /** Limits for clients; those of every server by default. */
  readonly limits?: ServerLimits;
  /** Connections at once; default 4,000. */
  readonly maxConnections?: number;
}

/** Reasons of what the parser of HTTP refuses, as a Status names them. */
const REFUSED: Readonly<Record<number, string>> = {
  408: 'Timeout',
  413: 'RequestEntityTooLarge',
  431: 'RequestEntityTooLarge',
  503: 'ServiceUnavailable',
};

/** Larger answers are written in pieces, as their clients read them. */
const AT_ONCE_BYTES = 256 * 1024;

const YAML = 'application/yaml';
/**
 * Larger answers are JSON for those who want YAML too, which it is: block style takes a hundred times as long to write,
 * for a full namespace a minute in which nothing else would be served.
 */
const MAX_BLOCK_STYLE = 128 * 1024;

/** Clients of this server keep their connections and open others without trouble. */
const UNASKED_MS = 1_000;

/** Time for responses in flight. */
const CLOSE_MS = 3_000;

/** HTTP/1.1 over TLS in front of one handler: authentication, bodies, warnings, Status errors. */
export class TlsListener {
  readonly #server: Server;
  readonly #active = new Set<AbortController>();
  readonly #streams = new AnswerStreams();
  readonly #requests: RequestPots;
  /** Requests of which a part has not come yet. */
  readonly #unfinished: RequestPots;
  readonly #turns: FairTurns;
  readonly #bodies = bodyBudget();
  #isStopping = false;

  constructor(private readonly options: TlsListenerOptions) {
    const { limits = SERVER_LIMITS, clock, log, findListeners } = options;
    const { maxConnections: most = MAX_CONNECTIONS } = options;
    this.#turns = new FairTurns(clock);
    const what = 'requests and watches under way';
    this.#requests = new RequestPots(requestLimits(most), what, findListeners);
    const unfinished = 'requests whose body has not come as a whole';
    this.#unfinished = new RequestPots(bodyLimits(most), unfinished, findListeners);
    this.#server = createServer(
      {
        key: options.key,
        cert: options.certificate,
        ca: options.clientCa,
        requestCert: true,
        rejectUnauthorized: false, // bearer tokens come without a certificate; see authenticate
        keepAliveTimeout: 90_000,
        handshakeTimeout: limits.headersMs,
        ...serverOptions(limits),
        requireHostHeader: false, // refused below, with a Status
      },
      (request, response) => {
        const id = requestId(request.headers[REQUEST_ID_HEADER]);
        response.setHeader(REQUEST_ID_HEADER, id);
        protectAnswer(response);
        withLogFields({ requestId: id }, () => this.#serve(request, response)).catch((error: unknown) => {
          // not even its failure could be told: that is this request's trouble alone
          this.options.log.error({ err: error }, 'answering a request failed');
          response.destroy();
        });
      },
    );
    answerBrokenRequests(this.#server, (code, detail) =>
      new ApiError(code, REFUSED[code] ?? 'BadRequest', detail).status(),
    );
    limitServer(this.#server, { limits, clock, onCut: recordCuts(log, 'kubernetes') });
    const room = new ConnectionRoom({
      clock,
      most,
      unaskedMs: UNASKED_MS,
      onFull: (report) =>
        log.warn(
          report,
          'cut connections to the API server: as many are open as may be; "ss -tnp" names the processes of this machine that hold them',
        ),
    });
    boundConnections(this.#server, room);
    this.#server.on('secureConnection', (socket: TLSSocket) => socket.setNoDelay(true));
  }

  async listen(host: string, port: number): Promise<number> {
    return await listenOn(this.#server, claimAddress({ host, port }), (error) =>
      this.options.log.error({ error: errorText(error) }, 'TLS listener failed'),
    );
  }

  /** Ends streams, answers requests in flight, closes. */
  async close(): Promise<void> {
    this.#isStopping = true;
    for (const request of this.#active) request.abort(new Error('the API server is stopping'));
    await closeServer(this.#server, { clock: this.options.clock, patienceMs: CLOSE_MS });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    this.#active.add(gone);
    response.on('close', () => {
      this.#active.delete(gone);
      gone.abort(new Error('the client disconnected'));
    });
    response.on('error', () => gone.abort(new Error('the client disconnected')));
    const warnings: string[] = [];
    let owner: string | undefined;
    const streams = { open: (answer: ServerResponse) => this.#streams.open(answer, owner) };
    try {
      if (request.headers.host === undefined && request.httpVersion === '1.1')
        throw badRequest('missing required Host header');
      const [path = '/', search = ''] = splitOnce(request.url ?? '/', '?');
      const query = new URLSearchParams(search);
      const info = parseRequestInfo(request.method ?? 'GET', path, query);
      observeRequest(info, response, this.options.knowsResource);
      const user = await this.options.authenticate(request);
      if (!user.groups.includes(MASTERS)) owner = holderOf(user);
      const parts = { info, query, headers: request.headers, user, signal: gone.signal };
      const warn = (text: string): void => void warnings.push(text);
      const audited = { request, response, info, user, isDryRun: query.getAll('dryRun').includes('All') };
      const reply = await this.options.audit(audited, () => this.#handle(request, { ...parts, warn }));
      if (this.#isStopping) response.setHeader('Connection', 'close');
      await writeReply(reply, request, response, { warnings, streams });
    } catch (error) {
      await this.#fail(error, request, response, warnings);
    }
  }

  /** The platform's own programs are not queued: everything else depends on them. */
  async #handle(
    request: IncomingMessage,
    parts: Omit<RequestContext, 'readBody' | 'nextTurn'>,
  ): Promise<Reply> {
    const { user, signal } = parts;
    const { handler } = this.options;
    if (user.groups.includes(MASTERS))
      return handler({
        ...parts,
        readBody: () => readBody(request, undefined),
        nextTurn: () => setImmediate(),
      });
    const holder = holderOf(user);
    const account = this.#bodies.open(holder);
    try {
      this.#requests.begin(user, signal);
      const nextTurn = (): Promise<void> => this.#turns.take(holder, signal);
      await nextTurn();
      const takenBody = async (): Promise<Buffer> => {
        const body = await this.#receive(request, user, account);
        await nextTurn();
        return body;
      };
      return await handler({ ...parts, readBody: takenBody, nextTurn });
    } finally {
      account.keep(0);
    }
  }

  async #receive(request: IncomingMessage, user: UserInfo, account: Place): Promise<Buffer> {
    if (request.complete) return readBody(request, account);
    const received = new AbortController();
    this.#unfinished.begin(user, received.signal);
    try {
      return await readBody(request, account);
    } finally {
      received.abort();
    }
  }

  async #fail(
    error: unknown,
    request: IncomingMessage,
    response: ServerResponse,
    warnings: readonly string[],
  ): Promise<void> {
    if (!(error instanceof ApiError)) {
      this.options.log.error(
        { method: request.method, path: request.url?.split('?')[0], err: error },
        'request failed',
      );
    }
    if (response.headersSent || response.destroyed) return void response.destroy();
    const failure = error instanceof ApiError ? error : internalError(errorText(error));
    if (failure.details?.retryAfterSeconds)
      response.setHeader('Retry-After', String(failure.details.retryAfterSeconds));
    if (!request.complete) response.setHeader('Connection', 'close');
    return writeReply({ kind: 'json', code: failure.code, body: failure.status() }, request, response, {
      warnings,
      streams: this.#streams,
    });
  }
}

function splitOnce(text: string, separator: string): readonly string[] {
  const index = text.indexOf(separator);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}

type Streams = Pick<AnswerStreams, 'open'>;

async function writeReply(
  reply: Reply,
  request: IncomingMessage,
  response: ServerResponse,
  { warnings, streams }: { readonly warnings: readonly string[]; readonly streams: Streams },
): Promise<void> {
  if (warnings.length > 0) {
    response.setHeader('Warning', warningHeader(warnings));
  }
  response.setHeader('Cache-Control', 'no-cache, private');
  if (reply.kind === 'stream') {
    response.writeHead(reply.code, { 'Content-Type': reply.contentType });
    response.flushHeaders();
    return reply.start(streams.open(response));
  }
  if (reply.kind !== 'parts') return writeWhole(reply, request, response, streams);
  const pieces = piecesOf(reply.parts);
  const first = pieces.next().value ?? '';
  const second = pieces.next();
  if (second.done === true)
    return writeWhole({ kind: 'json', code: reply.code, body: first }, request, response, streams);
  response.writeHead(reply.code, { 'Content-Type': isYamlWanted(request) ? YAML : 'application/json' });
  // the body is not sent: printing it would only block, in one stretch
  if (request.method === 'HEAD') return void response.end();
  response.flushHeaders();
  return writePieces(chained([first, second.value], pieces), streams.open(response));
}

async function writeWhole(
  reply: Extract<Reply, { readonly kind: 'json' | 'bytes' }>,
  request: IncomingMessage,
  response: ServerResponse,
  streams: Streams,
): Promise<void> {
  const { contentType, body } = reply.kind === 'json' ? await objectText(reply.body, request) : reply;
  const headers = reply.kind === 'bytes' ? reply.headers : {};
  const length = Buffer.byteLength(body);
  response.writeHead(reply.code, { ...headers, 'Content-Type': contentType, 'Content-Length': length });
  if (request.method === 'HEAD') response.end();
  else if (typeof body !== 'string') response.end(body);
  // bytes: headers that leave with a text are encoded as the text is
  else if (length <= AT_ONCE_BYTES) response.end(Buffer.from(body));
  else {
    // the text of a stored object is in memory once, however many clients have not read it yet
    response.flushHeaders();
    await writePieces(piecesOf([body]), streams.open(response));
  }
}

function* chained(first: Iterable<string>, rest: Iterable<string>): Generator<string> {
  yield* first;
  yield* rest;
}

function isYamlWanted(request: IncomingMessage): boolean {
  return parseAccept(request.headers.accept)[0]?.type === 'application/yaml';
}

async function objectText(
  body: string | object,
  request: IncomingMessage,
): Promise<{ contentType: string; body: string }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (!isYamlWanted(request)) return { contentType: 'application/json', body: text };
  if (text.length > MAX_BLOCK_STYLE) return { contentType: YAML, body: text };
  const { stringify } = await import('yaml'); // rarely asked for
  return { contentType: YAML, body: stringify(parseExactJson(text)) };
}
