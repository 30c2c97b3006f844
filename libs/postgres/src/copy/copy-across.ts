import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from } from 'pg-copy-streams';
import { namedFailure } from '../named-failure.js';
import { CopyRows } from './copy-rows.js';

/**
 * The rows of a query in the form that `CopyBinaryReader` reads. The connection is busy until the stream has ended;
 * destroying the stream early leaves it unusable. `rowCount` is known once a later statement of the connection was answered.
 * @param query takes no parameters: COPY has none
 */
export function copyOut(connection: pg.ClientBase, query: string): CopyRows {
  return connection.query(new CopyRows(`COPY (${query}) TO STDOUT (FORMAT binary)`));
}

/** A table that two databases have. Names are as in the catalogs, without quotes. */
export interface CopyAcross {
  readonly table: string;
  /** Columns that are copied; the target fills the others. */
  readonly columns: readonly string[];
  /** Callback with the bytes of each chunk that leaves the source. */
  readonly passed?: ((bytes: number) => void) | undefined;
}

/**
 * Copies the rows of a table from one connection to another, as fast as the slower takes them, without holding them.
 * Joins the transactions that are open on both. A failure ends the connection of the source.
 * @returns how many rows were written
 * @throws the answer of the database that failed first, or NoAnswerError
 */
export async function copyAcross(
  source: pg.Client,
  target: pg.ClientBase,
  { table, columns, passed }: CopyAcross,
): Promise<number> {
  const name = target.escapeIdentifier(table);
  const list = columns.map((column) => target.escapeIdentifier(column)).join(', ');
  const rows = copyOut(source, `SELECT ${list} FROM ${name}`);
  const sink = target.query(from(`COPY ${name} (${list}) FROM STDIN (FORMAT binary)`));
  if (passed) rows.on('data', (chunk: Buffer) => passed(chunk.length));
  try {
    await pipeline(rows, sink);
  } catch (error) {
    // unread rows keep the connection busy: its next statement, the ROLLBACK, would wait indefinitely
    void source.end();
    throw namedFailure(error);
  }
  return sink.rowCount;
}
