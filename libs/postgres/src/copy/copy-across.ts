import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from } from 'pg-copy-streams';
import { copyOut } from './copy-out.js';

/** Rows from one database into another. */
export interface CopyAcross {
  /** What is read. It takes no parameters. */
  readonly query: string;
  readonly table: string;
  readonly columns: readonly string[];
}

/**
 * Copies rows from one connection to another, as fast as the slower takes them, without holding them. Joins the
 * transactions that are open on both.
 * @returns how many rows were written
 */
export async function copyAcross(
  source: pg.ClientBase,
  target: pg.ClientBase,
  { query, table, columns }: CopyAcross,
): Promise<number> {
  const rows = copyOut(source, query);
  const sink = target.query(from(`COPY ${table} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`));
  await pipeline(rows, sink);
  return sink.rowCount;
}
