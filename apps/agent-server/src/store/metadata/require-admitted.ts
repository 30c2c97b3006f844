import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText } from '../json-text.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * Checks whether the scope is the reason that a row was not written: a caller must be able to see every row
 * that it writes.
 * @param what the object for the message, as in `Thread 1234`
 * @throws PublicError `forbidden`
 */
export async function requireAdmitted(
  scope: Scope,
  sql: Sql,
  metadata: JsonObject,
  what: string,
): Promise<void> {
  const { rows } = await sql.inScope<{ admitted: boolean }>(scope, {
    text: `SELECT ${visible('$2::jsonb')} AS admitted`,
    values: [jsonbText(metadata)],
  });
  if (!rows[0]?.admitted)
    throw new PublicError('forbidden', `${what}: its metadata is outside what this caller may access`);
}
