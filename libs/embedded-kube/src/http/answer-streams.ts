import type { ServerResponse } from 'node:http';
import type { AnswerStream } from './request-context.js';

/** A stream whose client has this much unread is cut off; a watch lists again. The same for all streams of one user. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** Limit of unread data for the clients of all streams together. */
const MAX_UNREAD_BYTES_OF_ALL = 128 * 1024 * 1024;
/** Amount below which unread data counts as in flight. */
const UNNOTICED_BYTES = 1024 * 1024;

interface Unread {
  readonly bytes: number;
  readonly owner: string | undefined;
}

/**
 * Open-ended responses, and how much of them is buffered because clients do not read. A response with too
 * much unread data is cut off; when many have too much together, of one user or of all, those that have
 * lagged longest are cut off. A client that reads is not cut off for others that do not: a node or a
 * controller would never get past a large object.
 */
export class AnswerStreams {
  /** Responses with unread data, in the order in which they began to lag. */
  readonly #unread = new Map<ServerResponse, Unread>();
  readonly #ofOwners = new Map<string, number>();
  #total = 0;

  /** @param limits in bytes, for one stream or the streams of one user, and for all */
  constructor(
    private readonly limits = { one: MAX_UNREAD_BYTES, all: MAX_UNREAD_BYTES_OF_ALL, least: UNNOTICED_BYTES },
  ) {}

  /** @param owner whose streams count together; undefined: each for itself */
  open(response: ServerResponse, owner?: string): AnswerStream {
    response.on('drain', () => this.#note(response, 0, owner));
    response.on('close', () => this.#note(response, 0, owner));
    return {
      write: (chunk) => this.#write(response, chunk, owner),
      end: () => void response.end(),
      drained: () => drained(response),
    };
  }

  #write(response: ServerResponse, chunk: string | Buffer, owner: string | undefined): boolean {
    if (response.destroyed || response.writableEnded) return false;
    response.write(chunk);
    const { writableLength } = response;
    this.#note(response, writableLength > this.limits.least ? writableLength : 0, owner);
    if (writableLength > this.limits.one) this.#cut(response, owner);
    for (const [lazy, of] of this.#unread) {
      const isTooMuch = this.#total > this.limits.all;
      const isTooMuchOfOwner = owner !== undefined && (this.#ofOwners.get(owner) ?? 0) > this.limits.one;
      if (!isTooMuch && !isTooMuchOfOwner) break;
      if (isTooMuch || of.owner === owner) this.#cut(lazy, of.owner);
    }
    return !response.destroyed;
  }

  #cut(response: ServerResponse, owner: string | undefined): void {
    response.destroy();
    this.#note(response, 0, owner);
  }

  #note(response: ServerResponse, bytes: number, owner: string | undefined): void {
    const change = bytes - (this.#unread.get(response)?.bytes ?? 0);
    this.#total += change;
    if (bytes > 0) this.#unread.set(response, { bytes, owner });
    else this.#unread.delete(response);
    if (owner === undefined) return;
    const ofOwner = (this.#ofOwners.get(owner) ?? 0) + change;
    if (ofOwner > 0) this.#ofOwners.set(owner, ofOwner);
    else this.#ofOwners.delete(owner);
  }
}

/** Resolves when the client has read enough to be sent more, or has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => {
    response.off('drain', done);
    response.off('close', done);
    resolve();
  };
  response.on('drain', done);
  response.on('close', done);
  return promise;
}
