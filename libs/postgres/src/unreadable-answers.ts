import type { Duplex } from 'node:stream';
import type pg from 'pg';

/** Method by which the driver begins to read from a socket; its types leave this out. */
interface Reading {
  attachListeners(stream: Duplex): void;
}

/**
 * Lets an answer that cannot be read fail its statement: a value that is too long for a text of JavaScript
 * (2^29 characters), or bytes that are not a message of Postgres. The driver reads in a listener of the
 * socket, where the error would end the process, and with it the work of others. The connection is given up,
 * since the rest of the answer was not read.
 */
export function failUnreadableAnswers(connection: pg.Connection): void {
  const reading = connection as pg.Connection & Reading;
  const attach = reading.attachListeners.bind(connection);
  reading.attachListeners = (stream) => {
    const before = new Set(stream.listeners('data'));
    attach(stream);
    for (const listener of stream.listeners('data') as ((piece: Buffer) => void)[]) {
      if (before.has(listener)) continue;
      stream.off('data', listener);
      stream.on('data', (piece: Buffer) => {
        // the reader has lost its place
        if (stream.destroyed) return;
        try {
          listener(piece);
        } catch (error) {
          stream.destroy(
            isTooLong(error)
              ? new RangeError('a value of the answer is too long to be read', { cause: error })
              : new Error('the server sent what is no answer of Postgres', { cause: error }),
          );
        }
      });
    }
  };
}

function isTooLong(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_STRING_TOO_LONG';
}
