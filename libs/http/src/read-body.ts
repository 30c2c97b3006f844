import type { Readable } from 'node:stream';
import { PublicError } from '#lib/errors';

/** A run of pieces that is looked at together. */
const RUN = 1024;
/** Pieces shorter than this on average are put together. */
const SMALL_BYTES = 4096;

/**
 * Bytes that come in pieces. Clients choose how long these are, and a piece of one byte takes hundreds of
 * them in memory: short ones are put together as they come, so that about as much is held as was sent.
 */
export class Pieces {
  readonly #older: Buffer[] = [];
  #recent: Buffer[] = [];
  #recentBytes = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    this.#recentBytes += piece.length;
    this.#recent.push(piece);
    if (this.#recent.length < RUN) return;
    if (this.#recentBytes < RUN * SMALL_BYTES)
      this.#older.push(Buffer.concat(this.#recent, this.#recentBytes));
    else this.#older.push(...this.#recent);
    this.#recent = [];
    this.#recentBytes = 0;
  }

  /** All bytes. If they came in one piece, it is that piece. */
  whole(): Buffer {
    const [only] = this.#recent;
    if (this.#older.length === 0 && this.#recent.length === 1 && only) return only;
    return Buffer.concat([...this.#older, ...this.#recent], this.#length);
  }
}

/**
 * The pieces of a request's body. A caller that stops reading it early can still answer: by default the
 * stream would end with its iterator and close the connection, and the client would never learn the reason.
 * The rest of a refused body is received and dropped.
 * @param seen gets the length of each piece before it is handed on
 */
export async function* bodyPieces(
  body: Readable,
  seen: (bytes: number) => void = () => undefined,
): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      seen(piece.length);
      yield piece;
    }
  } finally {
    body.resume();
  }
}

/** @param maxBytes that a body may have, compressed or not */
export function bodyTooLarge(maxBytes: number): PublicError {
  return new PublicError('too_large', bodyTooLargeText(maxBytes));
}

/** Message to the sender of the body. */
export function bodyTooLargeText(maxBytes: number): string {
  return `The request body is too large: it may have ${maxBytes.toLocaleString('en-US')} bytes`;
}

/**
 * The whole body, by events: most bodies are one small piece, and iterators take several times longer for that than all
 * else that is done with it. The rest of a refused body is received and dropped.
 * @param seen gets the length of each piece before it is kept; what it throws refuses the body
 * @throws PublicError too_large
 */
export function readBody(
  body: Readable,
  maxBytes: number,
  seen: (bytes: number) => void = () => undefined,
): Promise<Buffer> {
  // no event comes any more
  if (body.destroyed || body.readableEnded) return joinPieces(bodyPieces(body, seen), maxBytes);
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const onData = (piece: Buffer): void => {
      try {
        seen(piece.length);
        if (pieces.length + piece.length > maxBytes) throw bodyTooLarge(maxBytes);
        pieces.add(piece);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = (): void => {
      leave();
      resolve(pieces.whole());
    };
    const onClose = (): void => fail(new Error('the body ended before it was whole'));
    const fail = (error: unknown): void => {
      leave();
      body.on('error', () => undefined).resume(); // the rest is discarded
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const leave = (): void => {
      body.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose);
    };
    body.on('data', onData).on('end', onEnd).on('error', fail).on('close', onClose);
  });
}

/** @throws PublicError too_large */
export async function joinPieces(from: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const pieces = new Pieces();
  for await (const piece of from) {
    if (pieces.length + piece.length > maxBytes) throw bodyTooLarge(maxBytes);
    pieces.add(piece);
  }
  return pieces.whole();
}
