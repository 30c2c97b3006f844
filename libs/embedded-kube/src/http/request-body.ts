import { Admission, type Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { bodyPieces, Pieces } from '#lib/http';
import { ApiError } from '#lib/kube-semantics';
import type { IncomingMessage } from 'node:http';

/** Maximum size of a body at a real API server: 3 MB. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;
/**
 * Limit for all bodies that are received or decoded, of which one user gets half, the next a half of the
 * rest.
 */
const MAX_BYTES_OF_ALL = 64 * 1024 * 1024;

const TOO_MUCH =
  'the bodies of requests under way fill the memory that there is for them; send fewer or smaller ones at a time';

/** Memory budget for the bodies of all requests. */
export function bodyBudget(maxBytes = MAX_BYTES_OF_ALL): Admission {
  return new Admission({ capacity: maxBytes, halves: true, refusal: TOO_MUCH });
}

/**
 * The whole body. The rest of one that is refused is received and dropped, so that its sender learns why.
 * @param account its part of the memory budget; undefined for users who are not counted
 * @throws ApiError 413, 429
 */
export async function readBody(request: IncomingMessage, account: Place | undefined): Promise<Buffer> {
  const pieces = new Pieces();
  for await (const piece of bodyPieces(request)) {
    if (pieces.length + piece.length > MAX_BODY_BYTES) {
      throw new ApiError(
        413,
        'RequestEntityTooLarge',
        `Request entity too large: limit is ${MAX_BODY_BYTES}`,
      );
    }
    hold(account, piece.length);
    pieces.add(piece);
  }
  return pieces.whole();
}

function hold(account: Place | undefined, bytes: number): void {
  try {
    account?.hold(bytes);
  } catch (error) {
    if (!(error instanceof PublicError)) throw error;
    throw new ApiError(429, 'TooManyRequests', error.message, { retryAfterSeconds: 1 });
  }
}
