import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * Ids of runs without a thread whose metadata contains this: pending and running ones, and those that can
 * still be read.
 */
export async function listTemporaryRuns(scope: Scope, sql: Sql, metadata: JsonObject): Promise<string[]> {
  const { rows } = await sql.inScope<{ run_id: string }>(scope, {
    scans: 'Searching runs',
    text: `SELECT r.run_id FROM agentplane.runs r
      WHERE r.temporary AND r.metadata @> $2::jsonb AND ${visible('r.metadata')} ORDER BY r.run_id`,
    values: [jsonbText(metadata)],
  });
  return rows.map((row) => row.run_id);
}
