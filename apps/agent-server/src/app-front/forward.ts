import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type IncomingHttpHeaders } from 'node:http2';
import { bodyTooLargeText } from '#lib/http';
import type { Clock } from '#lib/time';
import { type AuthUser, baseOf } from '../authorization/auth-user.js';
import type { OwnCall } from '../webhook/webhook-policy.js';
import {
  type AppExchange,
  type AppProcess,
  CALLER_HEADER,
  callerText,
  goesOn,
  HOST_HEADER,
  LENGTH_HEADER,
  PASS_HEADER,
} from './control.js';

/** Limit per answer; the rest is cut off. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Posts to an agent's HTTP app and answers the status. The request has no number, so the app cannot leave it to the server.
 * @param answerMs until the end of the answer
 * @throws when the app ends, or does not answer in time
 */
export function postToApp(
  process: AppProcess,
  { path, headers, body, caller }: OwnCall,
  answerMs: number,
  clock: Clock,
): Promise<number> {
  const sent = Object.entries(headers).filter(([name]) => goesOn(name.toLowerCase(), ''));
  const stream = process.request(
    {
      ...Object.fromEntries(sent),
      ':method': 'POST',
      ':path': path,
      [HOST_HEADER]: 'http://localhost',
      ...(caller ? { [CALLER_HEADER]: callerText(caller) } : {}),
    },
    false,
  );
  return new Promise((resolve, reject) => {
    const cancel = clock.after(answerMs, () => {
      reject(new Error(`the agent's HTTP app did not answer within ${answerMs / 1000} s`));
      stream.close(constants.NGHTTP2_CANCEL);
    });
    stream.once('response', (answer: IncomingHttpHeaders) => resolve(Number(answer[':status'])));
    let bytes = 0;
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > MAX_ANSWER_BYTES) stream.close(constants.NGHTTP2_CANCEL);
    });
    stream.on('error', reject);
    stream.once('close', () => {
      cancel();
      // after an answer this changes nothing
      reject(new Error("the agent's HTTP app broke off"));
    });
    stream.end(body);
  });
}

/** Limit of the server's own routes. */
const MAX_BODY_BYTES = 64 * 2 ** 20;

/** The end of the process is known so much later than that of its pipe. */
const SETTLE_MS = 200;

/** One request on its way to the app. */
export interface ForwardedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path and query, without the prefix under which the server is mounted. */
  readonly url: string;
  /** Number by which the app leaves the request to the server. */
  readonly pass: string;
  readonly requestId: string;
  /** Undefined when the request was not authenticated before the app. */
  readonly caller: AuthUser | undefined;
}

export interface ForwardLimits {
  /** Time for the app to begin its answer. */
  readonly answerMs: number;
}

/** Answers that became sockets: nothing else may be written to them. */
const left = new WeakSet<ServerResponse>();

/** The answer to a request that the app passed on is given otherwise: by a socket. */
export function leaveAnswer(response: ServerResponse): void {
  left.add(response);
}

/** Answers with a text of the server when nothing of the app was sent yet; otherwise cuts the answer. */
export function answerFor(response: ServerResponse, status: number, detail: string): void {
  if (response.destroyed || response.writableEnded || left.has(response)) return;
  if (response.headersSent) return void response.destroy();
  for (const name of response.getHeaderNames())
    if (name.startsWith('content-') || name === 'set-cookie' || name === 'etag') response.removeHeader(name);
  const body = JSON.stringify({ detail });
  if (status === 503) response.setHeader('retry-after', '1');
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function headersFor({
  request,
  url,
  pass,
  requestId,
  caller,
}: ForwardedRequest): Record<string, string | string[]> {
  const { headers } = request;
  const connection = headers.connection ?? '';
  const sent: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (
      value !== undefined &&
      name !== 'host' &&
      name !== 'expect' &&
      name !== 'content-length' &&
      goesOn(name, connection)
    )
      sent[name] = value;
  return {
    ...sent,
    ':method': request.method ?? 'GET',
    ':path': url,
    'x-request-id': requestId,
    [PASS_HEADER]: pass,
    [HOST_HEADER]: baseOf(headers.host),
    ...(caller ? { [CALLER_HEADER]: callerText(caller) } : {}),
  };
}

function hasBody({ method, headers }: IncomingMessage): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Sends the head of an answer. @returns length that the app announced; undefined without a valid one */
function sendHead(response: ServerResponse, headers: IncomingHttpHeaders): number | undefined {
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(':') && goesOn(name, '')) response.setHeader(name, value);
  const announced = headers[LENGTH_HEADER];
  const length =
    typeof announced === 'string' && /^\d{1,15}$/.test(announced) ? Number(announced) : undefined;
  const status = Number(headers[':status']);
  if (length !== undefined && status !== 204) response.setHeader('content-length', length);
  response.writeHead(status);
  return response.req.method === 'HEAD' || status === 204 || status === 304 ? undefined : length;
}

/** Sends a body to the app as fast as it takes it, and drops the rest once the app has answered. */
function sendBody(
  stream: AppExchange,
  request: IncomingMessage,
  maxBytes: number,
  onTooLarge: () => void,
): void {
  let bytes = 0;
  request.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= maxBytes) return;
    request.unpipe(stream);
    onTooLarge();
  });
  request.pipe(stream);
  stream.once('close', () => {
    request.unpipe(stream);
    request.resume();
  });
}

/**
 * Sends one request to the app and its answer to the client. An app that ends or hangs is answered for: 502 when it ended
 * or broke off, 504 when it does not begin to answer in time. A client that leaves ends the request of the app.
 */
export function forward(
  process: AppProcess,
  forwarded: ForwardedRequest,
  limits: ForwardLimits,
  clock: Clock,
): void {
  const { request, response } = forwarded;
  const sendsBody = hasBody(request);
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES)
    return answerFor(response, 413, bodyTooLargeText(MAX_BODY_BYTES));
  const stream = process.request(headersFor(forwarded), !sendsBody);
  const give = (status: number, detail: string): void => {
    stream.close(constants.NGHTTP2_CANCEL);
    answerFor(response, status, detail);
  };
  const limitAnswer = (): (() => void) =>
    clock.after(limits.answerMs, () =>
      give(504, `The agent's HTTP app did not begin to answer within ${limits.answerMs / 1000} s`),
    );
  let cancelLimit = limitAnswer();
  const broken = (): void =>
    give(
      502,
      `The agent's HTTP app broke off: ${process.end?.message.split(';', 1)[0] ?? 'it did not answer to the end'}`,
    );
  response.once('close', () => {
    cancelLimit();
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  });
  if (sendsBody) sendBody(stream, request, MAX_BODY_BYTES, () => give(413, bodyTooLargeText(MAX_BODY_BYTES)));
  else request.resume();
  // a body may take its time
  request.on('data', () => {
    if (response.headersSent || response.destroyed) return;
    cancelLimit();
    cancelLimit = limitAnswer();
  });
  let announced: number | undefined;
  let bytes = 0;
  stream.once('response', (headers: IncomingHttpHeaders) => {
    cancelLimit();
    if (left.has(response)) return void stream.resume();
    try {
      announced = sendHead(response, headers);
    } catch {
      return give(502, "The agent's HTTP app answered with headers that cannot be sent");
    }
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length;
      // surplus bytes would be read as the next answer
      if (announced !== undefined && bytes > announced) response.destroy();
    });
    stream.pipe(response, { end: false });
  });
  stream.once('end', () => {
    const isWhole = !stream.rstCode && process.end === undefined;
    if (isWhole && response.headersSent && (announced ?? bytes) === bytes) response.end();
    else broken();
  });
  stream.on('error', () => undefined); // its close follows
  stream.once('close', () => {
    if (!response.writableEnded) void Promise.race([process.ended, clock.sleep(SETTLE_MS)]).then(broken);
  });
}
