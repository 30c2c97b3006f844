import type pg from 'pg';
import { CopyRows } from './copy-rows.js';

/**
 * The rows of a query in the form that `CopyBinaryReader` reads. The connection is busy until the stream has ended;
 * destroying the stream early leaves it unusable. `rowCount` is known once a later statement of the connection was answered.
 * @param query takes no parameters: COPY has none
 */
export function copyOut(connection: pg.ClientBase, query: string): CopyRows {
  return connection.query(new CopyRows(`COPY (${query}) TO STDOUT (FORMAT binary)`));
}
