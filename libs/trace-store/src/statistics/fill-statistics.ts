import { type Connection, postgresTrouble, textTypes } from '#lib/postgres';
import { dayOf, formatInstant, type Instant, MICROS_PER_DAY, parseInstant } from '#lib/time';
import { insertSums, SPAN } from './run-statistics-table.js';
import { sumRuns } from './sum-runs.js';

interface Piece {
  readonly tenantId: string;
  readonly projectId: string;
  readonly from: Instant;
  readonly to: Instant;
}

/**
 * Sums the runs of a store from before there were sums, one day of a project per transaction. A killed
 * process continues with the next day. In the snapshot of a transaction the sums of that day, with those that
 * batches have added, are replaced by those of its rows: a batch is in both or in none of them, and one that
 * commits later adds its difference.
 */
export async function fillStatistics(connection: Connection): Promise<void> {
  const projects = await connection.query<{ tenant_id: string; id: string }>(
    'SELECT tenant_id, id FROM projects ORDER BY tenant_id, id',
  );
  for (const { tenant_id: tenantId, id: projectId } of projects.rows)
    for (let piece = await nextPiece(connection, tenantId, projectId); piece;) {
      await fillPatiently(connection, piece);
      piece = await nextPiece(connection, tenantId, projectId);
    }
  await connection.query('DROP TABLE run_statistics_filled');
}

/** The first day of the project that has runs and was not summed yet. */
async function nextPiece(
  connection: Connection,
  tenantId: string,
  projectId: string,
): Promise<Piece | undefined> {
  const { rows } = await connection.query<{ start_time: string }>({
    text: `SELECT start_time FROM runs WHERE tenant_id = $1 AND project_id = $2 AND start_time >= coalesce(
      (SELECT up_to FROM run_statistics_filled WHERE tenant_id = $1 AND project_id = $2), '-infinity')
    ORDER BY start_time LIMIT 1`,
    values: [tenantId, projectId],
    types: textTypes,
  });
  const first = rows[0] && parseInstant(rows[0].start_time, { zone: 'optional' });
  if (first === undefined) return undefined;
  const from = dayOf(first);
  return { tenantId, projectId, from, to: from + MICROS_PER_DAY };
}

/** A row of sums that is folded meanwhile ends the attempt. */
async function fillPatiently(connection: Connection, piece: Piece): Promise<void> {
  for (;;)
    try {
      await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await fill(connection, piece);
      await connection.query('COMMIT');
      return;
    } catch (error) {
      await connection.query('ROLLBACK');
      if (postgresTrouble(error) !== 'conflict') throw error;
    }
}

async function fill(connection: Connection, { tenantId, projectId, from, to }: Piece): Promise<void> {
  const values = [tenantId, projectId, formatInstant(from), formatInstant(to)];
  await connection.query(
    `DELETE FROM run_statistics WHERE tenant_id = $1 AND project_id = $2 AND hour >= $3 AND hour < $4`,
    values,
  );
  const hours = await sumRuns(
    connection,
    'r.tenant_id = $1 AND r.project_id = $2 AND r.start_time >= $3 AND r.start_time < $4',
    values,
  );
  await insertSums(connection, tenantId, hours, SPAN.hour);
  await insertSums(connection, tenantId, hours.byDay(), SPAN.day);
  await connection.query(
    `INSERT INTO run_statistics_filled VALUES ($1, $2, $3)
    ON CONFLICT (tenant_id, project_id) DO UPDATE SET up_to = excluded.up_to`,
    [tenantId, projectId, formatInstant(to)],
  );
}
