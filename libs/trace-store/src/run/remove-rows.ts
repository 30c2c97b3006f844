import type { Connection } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { timeBounds, type RunPlace } from './run-place.js';

/** Name of the column with a run's id in the tables that have its place. */
const ID_COLUMN = {
  runs: 'id',
  run_payloads: 'id',
  run_pairs: 'run_id',
  feedback: 'run_id',
  unplaced_runs: 'run_id',
  trace_tops: 'run_id',
} as const;

/** Removes the rows of these runs of one tenant and project. */
export async function removeRows(
  client: Connection,
  table: keyof typeof ID_COLUMN,
  places: readonly RunPlace[],
): Promise<void> {
  const [first] = places;
  if (!first) return;
  await client.query(
    `DELETE FROM ${table} r USING unnest($5::timestamptz[], $6::uuid[], $7::uuid[]) AS k(start_time, id, trace_id)
    WHERE r.tenant_id = $1 AND r.project_id = $2 AND r.start_time >= $3 AND r.start_time <= $4
      AND r.start_time = k.start_time AND r.${ID_COLUMN[table]} = k.id AND r.trace_id = k.trace_id`,
    [
      first.tenantId,
      first.projectId,
      ...timeBounds(places),
      places.map(({ startTime }) => formatInstant(startTime)),
      places.map(({ id }) => id),
      places.map(({ traceId }) => traceId),
    ],
  );
}
