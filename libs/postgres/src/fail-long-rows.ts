import type { Duplex } from 'node:stream';
import type pg from 'pg';

/** Where the driver begins to read from a socket; its types leave this out. */
interface Reading {
  attachListeners(stream: Duplex): void;
}

/**
 * Lets a row with a value that is too long for a text of JavaScript (2^29 characters) fail its statement. The driver
 * makes the text in a listener of the socket, where the error would end the process, and with it the work of others.
 * The connection is given up, since the rest of the answer was not read.
 */
export function failLongRows(connection: pg.Connection): void {
  const reading = connection as pg.Connection & Reading;
  const attach = reading.attachListeners.bind(connection);
  reading.attachListeners = (stream) => {
    const before = new Set(stream.listeners('data'));
    attach(stream);
    for (const listener of stream.listeners('data') as ((piece: Buffer) => void)[]) {
      if (before.has(listener)) continue;
      stream.off('data', listener);
      stream.on('data', (piece: Buffer) => {
        try {
          listener(piece);
        } catch (error) {
          if (!isTooLong(error)) throw error;
          stream.destroy(new RangeError('a value of the answer is too long to be read', { cause: error }));
        }
      });
    }
  };
}

function isTooLong(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_STRING_TOO_LONG';
}
