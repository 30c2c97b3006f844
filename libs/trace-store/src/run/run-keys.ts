import { type Connection, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, parseInstant } from '#lib/time';
import type { RunPlace } from './run-table.js';

interface KeyRow {
  readonly id: string;
  readonly trace_id: string;
  readonly start_time: string;
  readonly project_id: string;
}

/** One text for (run, trace) within a tenant. */
export function runKey(run: { readonly id: string; readonly traceId: string }): string {
  return `${run.id}/${run.traceId}`;
}

/**
 * Takes the places of runs that are not known yet. Projects are locked against deletion; a run whose project was deleted
 * gets no place.
 * @returns the keys that are new, as `runKey` spells them
 */
export async function claimPlaces(
  client: Connection,
  tenantId: string,
  places: readonly RunPlace[],
): Promise<ReadonlySet<string>> {
  if (places.length === 0) return new Set();
  // sorted: two batches with the same runs wait for one another instead of deadlocking
  const result = await client.query<{ id: string; trace_id: string }>(
    `INSERT INTO run_keys (tenant_id, id, trace_id, start_time, project_id)
    SELECT $1, g.id, g.trace_id, g.start_time, p.id
    FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::uuid[]) AS g(id, trace_id, start_time, project_id)
    JOIN projects p ON p.id = g.project_id AND p.tenant_id = $1
    ORDER BY g.id, g.trace_id FOR KEY SHARE OF p
    ON CONFLICT DO NOTHING RETURNING id, trace_id`,
    [
      tenantId,
      places.map((place) => place.id),
      places.map((place) => place.traceId),
      places.map((place) => formatInstant(place.startTime)),
      places.map((place) => place.projectId),
    ],
  );
  return new Set(result.rows.map((row) => runKey({ id: row.id, traceId: row.trace_id })));
}

/**
 * Places of all runs with these ids, by id; more than one where an id occurs in several traces.
 * @param lock keeps others from changing these runs until the transaction ends
 */
export async function findPlaces(
  db: Queryable,
  tenantId: string,
  ids: readonly string[],
  lock = false,
): Promise<ReadonlyMap<string, readonly RunPlace[]>> {
  const found = new Map<string, RunPlace[]>();
  if (ids.length === 0) return found;
  const result = await db.query<KeyRow>({
    text: `SELECT id, trace_id, start_time, project_id FROM run_keys
      WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY id, trace_id ${lock ? 'FOR UPDATE' : ''}`,
    values: [tenantId, ids],
    types: textTypes,
  });
  for (const row of result.rows) {
    const place: RunPlace = {
      tenantId,
      id: row.id,
      traceId: row.trace_id,
      startTime: parseInstant(row.start_time, { zone: 'optional' }) ?? 0n,
      projectId: row.project_id,
    };
    found.set(row.id, [...(found.get(row.id) ?? []), place]);
  }
  return found;
}
