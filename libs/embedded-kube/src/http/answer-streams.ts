import type { ServerResponse } from 'node:http';
import type { AnswerStream } from './request-context.js';

/** A stream whose client has this much unread is cut off; a watch lists again. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** What the clients of all streams together may leave unread. */
const MAX_UNREAD_BYTES_OF_ALL = 128 * 1024 * 1024;
/** Less than this is on its way, not left lying. */
const UNNOTICED_BYTES = 1024 * 1024;

/**
 * The answers without an end, and how much of them waits in memory because clients do not read: one that waits for too
 * much is cut off, and when many wait for too much together, those that have not read everything for longest. Whoever
 * reads is not cut off for others who do not: a node or a controller would never get past a large object.
 */
export class AnswerStreams {
  /** Those that left something unread before the others first. */
  readonly #unread = new Map<ServerResponse, number>();
  #total = 0;

  /** @param limits in bytes, for one stream and for all */
  constructor(
    private readonly limits = { one: MAX_UNREAD_BYTES, all: MAX_UNREAD_BYTES_OF_ALL, least: UNNOTICED_BYTES },
  ) {}

  open(response: ServerResponse): AnswerStream {
    response.on('drain', () => this.#note(response, 0));
    response.on('close', () => this.#note(response, 0));
    return {
      write: (chunk) => this.#write(response, chunk),
      end: () => void response.end(),
      drained: () => drained(response),
    };
  }

  #write(response: ServerResponse, chunk: string | Buffer): boolean {
    if (response.destroyed || response.writableEnded) return false;
    response.write(chunk);
    const { writableLength } = response;
    this.#note(response, writableLength > this.limits.least ? writableLength : 0);
    if (writableLength > this.limits.one) this.#cut(response);
    for (const lazy of this.#unread.keys()) {
      if (this.#total <= this.limits.all) break;
      this.#cut(lazy);
    }
    return !response.destroyed;
  }

  #cut(response: ServerResponse): void {
    response.destroy();
    this.#note(response, 0);
  }

  #note(response: ServerResponse, bytes: number): void {
    this.#total += bytes - (this.#unread.get(response) ?? 0);
    if (bytes > 0) this.#unread.set(response, bytes);
    else this.#unread.delete(response);
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
