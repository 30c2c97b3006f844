import type http from 'node:http';
import { errorText } from '#lib/errors';
import type { AddressGuard } from '../address-guard.js';
import { guardedRequest } from '../guarded-request.js';
import { WebhookRefusedError } from './webhook-guard.js';

/** The receiver wants no more calls. */
const GONE = 410;

/** Result of a call at its receiver. */
export type WebhookAnswer =
  | { readonly kind: 'accepted' }
  /** @property isFinal another try changes nothing */
  | { readonly kind: 'refused'; readonly why: string; readonly isFinal: boolean };

/** Meaning of a status. @param who answered it, in a sentence */
export function answerOf(status: number, who: string): WebhookAnswer {
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  const isRedirect = status >= 300 && status < 400;
  const why = `${who} answered ${status}${isRedirect ? '; redirects are not followed' : ''}`;
  return { kind: 'refused', why, isFinal: status === GONE };
}

/** Time limit from the first packet to the status of the answer, DNS and TLS included, milliseconds. */
export const CALL_TIMEOUT_MS = 10_000;

/** Maximum size of an answer; the rest is not waited for. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Cost of a piece of it beside its bytes: receivers choose how small pieces are. */
const PIECE_BYTES = 1024;

export interface WebhookCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Calls once. The address that the guard has seen is the one that is dialled; redirects are not followed. Never rejects. */
export async function postWebhook(call: WebhookCall, guard: AddressGuard): Promise<WebhookAnswer> {
  try {
    return answerOf(await statusOf(call, guard), 'the receiver');
  } catch (error) {
    return { kind: 'refused', why: renderFailure(error), isFinal: error instanceof WebhookRefusedError };
  }
}

/** Reason why a call failed, without a word of its URL. */
export function renderFailure(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `the receiver did not answer within ${CALL_TIMEOUT_MS / 1000} s`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return code && code !== 'ERR_INVALID_CHAR'
    ? `calling failed: ${code}`
    : `calling failed: ${errorText(error)}`;
}

function statusOf({ url: text, headers, body }: WebhookCall, guard: AddressGuard): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = guardedRequest(
      new URL(text),
      {
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        timeoutMs: CALL_TIMEOUT_MS,
      },
      guard,
      reject, // after an answer this changes nothing
    );
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
    bytes += piece.length + PIECE_BYTES;
    if (bytes > MAX_ANSWER_BYTES) request.destroy();
  });
  response.on('error', () => undefined);
}

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * The pause after a failed attempt, milliseconds: twice as long after each, an hour at most, give or take a fifth, so
 * that many do not come back at once.
 * @param attempt from 1
 */
export function webhookPauseMs(attempt: number): number {
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 30));
  return pauseMs * (0.8 + 0.4 * Math.random());
}
