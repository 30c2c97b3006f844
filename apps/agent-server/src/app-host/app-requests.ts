import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathShape } from '#lib/http';
import { isJsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import { CALLER_HEADER, goesOn, HOST_HEADER, LENGTH_HEADER, PASS_HEADER } from '../app-front/control.js';
import type { AuthUser } from '../authorization/auth-user.js';
import type { OwnServer } from '../host/own-server.js';
import type { AgentApp } from './agent-app.js';

/** Key of a request's number in the app's environment. */
const PASS = Symbol('number of the request');

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

/** The part of Hono's context that is read here. */
interface AppContext {
  readonly env: unknown;
  readonly req: {
    readonly raw: Request;
    readonly bodyCache?: unknown;
    arrayBuffer(): Promise<ArrayBuffer>;
  };
}

const NOT_FOUND = (): Response => Response.json({ detail: 'Not found' }, { status: 404 });

/** Middleware may have read the body, and changed what it parsed. */
async function bodyOf({ req }: AppContext): Promise<Readable | undefined> {
  const { raw, bodyCache } = req;
  if (raw.method === 'GET' || raw.method === 'HEAD') return undefined;
  if (raw.bodyUsed || (isJsonObject(bodyCache) && Object.keys(bodyCache).length > 0))
    return Readable.from([Buffer.from(await req.arrayBuffer())]);
  return raw.body ? Readable.fromWeb(raw.body) : undefined;
}

function responseOf(answer: IncomingMessage): Response {
  const headers = new Headers();
  const connection = answer.headers.connection ?? '';
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    const name = (answer.rawHeaders[at] ?? '').toLowerCase();
    // middleware that writes another body keeps the headers of the first
    if (goesOn(name, connection) && name !== 'content-length')
      headers.append(name, answer.rawHeaders[at + 1] ?? '');
  }
  const status = answer.statusCode ?? 502;
  const isEmpty = status === 204 || status === 205 || status === 304;
  if (isEmpty) answer.resume();
  return new Response(isEmpty ? null : ReadableStream.from<Uint8Array>(answer), {
    status,
    headers,
  });
}

/**
 * Asks the server for a request that the app has no route for. The server knows the request by its number; one that the
 * app made up itself has none, and is not found.
 */
export async function passOn(given: unknown, server: OwnServer): Promise<Response> {
  const context = given as AppContext;
  const pass: unknown = isJsonObject(context.env) ? Reflect.get(context.env, PASS) : undefined;
  if (typeof pass !== 'string') return NOT_FOUND();
  const { raw } = context.req;
  const { pathname, search } = new URL(raw.url);
  const body = await bodyOf(context);
  const connection = raw.headers.get('connection') ?? '';
  const headers: Record<string, string> = { [PASS_HEADER]: pass };
  for (const [name, value] of raw.headers)
    if (goesOn(name, connection) && name !== 'content-length') headers[name] = value;
  // a DELETE with a body and no length would be taken for two requests
  if (body) headers['transfer-encoding'] = 'chunked';
  const url = new URL(await server.url);
  const asked = httpRequest({
    agent,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    method: raw.method,
    path: url.pathname.replace(/\/$/, '') + pathname + search,
    headers,
    signal: raw.signal,
  });
  return new Promise<Response>((resolve, reject) => {
    let isAnswered = false;
    asked.once('response', (answer) => {
      isAnswered = true;
      resolve(responseOf(answer));
    });
    // no client is left to be answered
    asked.on('error', (error) =>
      raw.signal.aborted ? resolve(new Response(null, { status: 499 })) : reject(error),
    );
    if (!body) return void asked.end();
    // the rest of a body after its answer is of no use
    pipeline(body, asked).catch((error: unknown) => !isAnswered && asked.destroy(error as Error));
  });
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function userOf(given: string | undefined): AuthUser | undefined {
  if (given === undefined) return undefined;
  const parsed: unknown = JSON.parse(Buffer.from(given, 'base64url').toString());
  return isJsonObject(parsed) ? (parsed as AuthUser) : undefined;
}

/** A request as the app gets it: its client's, with the client's host and path. */
function requestOf(asked: Http2ServerRequest, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(asked.headers))
    if (!name.startsWith(':') && goesOn(name, ''))
      for (const one of [value ?? []].flat()) headers.append(name, one);
  const base = single(asked.headers[HOST_HEADER]) ?? 'http://localhost';
  headers.set('host', base.replace(/^https?:\/\//, ''));
  const hasBody = asked.method !== 'GET' && asked.method !== 'HEAD' && !asked.stream.endAfterHeaders;
  if (!hasBody) asked.resume();
  // no address that is sent has a fragment; routers differ in whether it belongs to the path
  return new Request(base + asked.url.replace(/#.*$/, ''), {
    method: asked.method,
    headers,
    signal,
    ...(hasBody ? { body: ReadableStream.from<Uint8Array>(asked), duplex: 'half' } : {}),
  });
}

/** Undefined for a request that cannot become a `Request`: a method such as TRACE, or an invalid address. */
function requestFor(asked: Http2ServerRequest, signal: AbortSignal): Request | undefined {
  try {
    return requestOf(asked, signal);
  } catch {
    return undefined;
  }
}

function refuse(answer: Http2ServerResponse, status: number, detail: string): void {
  answer.writeHead(status, { 'content-type': 'application/json' });
  answer.end(JSON.stringify({ detail }));
}

function isResponse(value: unknown): value is Response {
  // an agent may bring a class of its own
  return (
    typeof value === 'object' &&
    value !== null &&
    Reflect.get(value, 'headers') instanceof Object &&
    'status' in value
  );
}

function sendHead(answer: Http2ServerResponse, { status, headers }: Response): void {
  for (const [name, value] of headers)
    if (name === 'content-length') answer.setHeader(LENGTH_HEADER, value);
    else if (name !== 'set-cookie' && goesOn(name, headers.get('connection') ?? ''))
      answer.setHeader(name, value);
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) answer.setHeader('set-cookie', cookies);
  answer.writeHead(status);
}

async function bodyTo(answer: Http2ServerResponse, { body }: Response): Promise<void> {
  if (body === null) return void answer.end();
  await pipeline(Readable.fromWeb(body), answer);
}

/**
 * Hands one request to the app, and its answer to the server. An error that the app throws becomes an answer
 * too.
 */
export async function answerByApp(
  app: AgentApp,
  asked: Http2ServerRequest,
  answer: Http2ServerResponse,
  log: Logger,
): Promise<void> {
  const left = new AbortController();
  answer.once('close', () => left.abort(new Error('the client has left')));
  try {
    const environment = {
      user: userOf(single(asked.headers[CALLER_HEADER])),
      [PASS]: single(asked.headers[PASS_HEADER]),
    };
    const request = requestFor(asked, left.signal);
    if (!request) return refuse(answer, 400, "The request is none that the agent's HTTP app can be given");
    const given = await app.answer(request, environment);
    if (!isResponse(given)) throw new Error('fetch of the HTTP app returned no Response');
    sendHead(answer, given);
    await bodyTo(answer, given);
  } catch (error) {
    if (left.signal.aborted) return;
    log.error({ err: error, method: asked.method, path: pathShape(asked.url) }, 'HTTP app failed');
    if (answer.headersSent) return void answer.stream.close(2); // INTERNAL_ERROR: the answer is incomplete
    refuse(answer, 500, "The agent's HTTP app failed; its log has the reason");
  }
}
