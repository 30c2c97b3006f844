import type http from 'node:http';
import https from 'node:https';
import { proxyFor } from '#lib/config';
import { errorText } from '#lib/errors';
import { proxyAgent, type AddressGuard } from '#lib/outbound';
import type { AuthUser } from '../authorization/auth-user.js';
import { WebhookRefusedError } from './webhook-guard.js';
import { hostOf, portOf } from './webhook-policy.js';

// not by `import`: that reads every export of it, and one of them loads Node's WebSocket client, 6 MB and 60 ms
const plainHttp = process.getBuiltinModule('node:http');

/** From the first packet to the status of the answer, DNS and TLS included. */
const TIMEOUT_MS = 10_000;

/** Of an answer; what else comes is not waited for. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** The receiver wants no more calls. */
const GONE = 410;

/** What a receiver made of a call. */
export type Answer =
  | { readonly kind: 'accepted' }
  /** @property isFinal another try changes nothing */
  | { readonly kind: 'refused'; readonly why: string; readonly isFinal: boolean };

export interface WebhookCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The agent's own HTTP app. */
export interface OwnApp {
  /**
   * Posts to a path of the app, and never to one of the server's own routes.
   * @throws when the app is unavailable, breaks off or takes too long
   */
  post(call: OwnCall, answerMs: number): Promise<number>;
}

export interface OwnCall {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** On whose behalf: the caller of the run. */
  readonly caller: AuthUser | undefined;
}

/** Calls a path of the agent's own HTTP app once. Never rejects. */
export async function postToOwnApp(call: OwnCall, app: OwnApp | undefined): Promise<Answer> {
  // a newer revision may have one, and make the call
  if (!app) return { kind: 'refused', why: 'this revision of the agent has no http.app', isFinal: false };
  try {
    return answerOf(await app.post(call, TIMEOUT_MS), "the agent's HTTP app");
  } catch (error) {
    return { kind: 'refused', why: whyOf(error), isFinal: false };
  }
}

function answerOf(status: number, who: string): Answer {
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  const isRedirect = status >= 300 && status < 400;
  const why = `${who} answered ${status}${isRedirect ? '; redirects are not followed' : ''}`;
  return { kind: 'refused', why, isFinal: status === GONE };
}

/** Calls once. The address that the guard has seen is the one that is dialled; redirects are not followed. Never rejects. */
export async function postWebhook(call: WebhookCall, guard: AddressGuard): Promise<Answer> {
  try {
    return answerOf(await statusOf(call, guard), 'the receiver');
  } catch (error) {
    return { kind: 'refused', why: whyOf(error), isFinal: error instanceof WebhookRefusedError };
  }
}

function whyOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `the receiver did not answer within ${TIMEOUT_MS / 1000} s`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return code && code !== 'ERR_INVALID_CHAR'
    ? `calling failed: ${code}`
    : `calling failed: ${errorText(error)}`;
}

function statusOf({ url: text, headers, body }: WebhookCall, guard: AddressGuard): Promise<number> {
  const url = new URL(text);
  const isTls = url.protocol === 'https:';
  const [host, port] = [hostOf(url), portOf(url)];
  guard.checkHost(host);
  const proxy = proxyFor({ host, port, isTls });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const agent = proxy === undefined ? undefined : proxyAgent(proxy, isTls, guard);
    const request = (isTls ? https : plainHttp).request({
      ...{ method: 'POST', protocol: url.protocol, host, port, path: `${url.pathname}${url.search}` },
      ...(agent ? { agent } : { agent: false, lookup: guard.lookup }),
      headers: { ...headers, host: url.host, 'content-length': Buffer.byteLength(body) },
      signal,
    });
    request.on('error', (error) => reject(signal.aborted ? (signal.reason as Error) : error));
    request.on('close', () => {
      agent?.destroy();
      // after an answer this changes nothing; an answer that Node drops has neither an answer nor an error
      reject(new Error('the connection was closed without an answer'));
    });
    request.on('upgrade', ({ statusCode }, socket) => {
      socket.destroy();
      resolve(statusCode ?? 0);
    });
    request.on('response', (response) => {
      resolve(response.statusCode ?? 0);
      readOut(request, response);
    });
    request.end(body);
  });
}

/** Lets the receiver write its answer to the end, up to a bound. */
function readOut(request: http.ClientRequest, response: http.IncomingMessage): void {
  let bytes = 0;
  response.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) request.destroy();
  });
  response.on('error', () => undefined);
}
