import { sqlState } from '#lib/postgres';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/**
 * Creates pgvector when its files are beside the database and this user may; otherwise an operator may have
 * created it.
 */
export async function ensureVectorType(scope: WorkerScope, sql: Sql): Promise<void> {
  try {
    await sql.asWorker(scope, { text: 'CREATE EXTENSION IF NOT EXISTS vector' });
  } catch (error) {
    if (sqlState(error) === undefined) throw error; // no answer of the database
  }
}
