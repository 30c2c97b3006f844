import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isJsonObject } from '#lib/json';
import { goesOn, PASS_HEADER } from '../app-front/control.js';
import type { OwnServer } from '../loopback/own-server.js';

/** Key of a request's number in the app's environment. */
export const PASS = Symbol('number of the request');

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
