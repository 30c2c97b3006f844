import { sqlState } from '#lib/postgres';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/**
 * Creates pgvector where its files are beside the database and this user may; elsewhere somebody else may have.
 * @returns whether the database compares vectors itself
 */
export async function ensureVectorType(scope: WorkerScope, sql: Sql): Promise<boolean> {
  try {
    await sql.asWorker(scope, { text: 'CREATE EXTENSION IF NOT EXISTS vector' });
  } catch (error) {
    if (sqlState(error) === undefined) throw error; // no answer of the database
  }
  const { rows } = await sql.asWorker<{ found: boolean }>(scope, {
    text: `SELECT to_regtype('vector') IS NOT NULL AS found`,
  });
  return rows[0]?.found ?? false;
}
