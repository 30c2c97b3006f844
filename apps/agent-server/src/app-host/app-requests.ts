import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isJsonObject } from '#lib/json';
import { pathShape } from '#lib/http';
import type { Logger } from '#lib/telemetry';
import { CALLER_HEADER, goesOn, HOST_HEADER, LENGTH_HEADER, PASS_HEADER } from '../app-front/control.js';
import type { AuthUser } from '../authorization/auth-user.js';
import type { AgentApp } from './agent-app.js';
import { PASS } from './pass-on.js';

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
