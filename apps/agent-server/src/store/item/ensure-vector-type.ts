import { sqlState } from '#lib/postgres';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** Creates pgvector where its files are beside the database and this user may; elsewhere somebody else may have. */
export async function ensureVectorType(scope: WorkerScope, sql: Sql): Promise<void> {
  try {
    await sql.asWorker(scope, { text: 'CREATE EXTENSION IF NOT EXISTS vector' });
  } catch (error) {
    if (sqlState(error) === undefined) throw error; // no answer of the database
  }
}
