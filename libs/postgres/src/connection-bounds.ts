import type { Duplex } from 'node:stream';
import type pg from 'pg';
import { systemClock } from '#lib/time';

/** Limits of a connection. */
export interface ConnectionBounds {
  /** Time from its begin to its end, milliseconds. */
  readonly ms: number;
  /** Bytes of all that the server sends. */
  readonly bytes: number;
}

/** Method by which the driver begins to read from a socket; its types leave this out. */
interface Reading {
  attachListeners(stream: Duplex): void;
}

/**
 * Ends a connection that lasts longer, or is sent more. An untrusted server may stay silent indefinitely, or
 * send more than fits into memory, and the program that waits for it works for others as well.
 */
export function boundConnection(client: pg.Client, { ms, bytes }: ConnectionBounds): void {
  const connection = client.connection as pg.Connection & Reading;
  const attach = connection.attachListeners.bind(connection);
  let left = bytes;
  connection.attachListeners = (stream) => {
    stream.on('data', (piece: Buffer) => {
      left -= piece.length;
      if (left < 0) stream.destroy(new Error(`the server sent more than ${bytes} bytes`));
    });
    attach(stream);
  };
  const cancel = systemClock.after(ms, () =>
    connection.stream.destroy(new Error(`the server was not done within ${ms / 1000} s`)),
  );
  client.once('end', cancel);
}
