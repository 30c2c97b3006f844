import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from } from 'pg-copy-streams';
import { throwNamed } from '../named-failure.js';
import type { CopyBinaryWriter } from './copy-binary-writer.js';

/** Sends rows into `table`. Joins the transaction that is open on the connection. */
export async function copyIn(
  connection: pg.ClientBase,
  table: string,
  columns: readonly string[],
  rows: CopyBinaryWriter,
): Promise<void> {
  const copy = connection.query(from(`COPY ${table} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`));
  await pipeline(Readable.from(rows.finish(), { objectMode: false }), copy).catch(throwNamed);
}
