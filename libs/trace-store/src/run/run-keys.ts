import { type Connection, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, parseInstant } from '#lib/time';
import { deletedProjects } from '../project/project-deletions.js';
import type { RunPlace } from './stored-run.js';

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

const IS_AWAITED = `EXISTS (SELECT FROM run_patches_waiting u WHERE u.tenant_id = $1 AND u.run_id = k.id
    AND (u.trace_id IS NULL OR u.trace_id = k.trace_id) AND (u.project_id IS NULL OR u.project_id = k.project_id))`;

/** A few projects at most, and read once by a statement. */
const IS_LEFT = `project_id = ANY (${deletedProjects('$1')})`;

/** A run to be found; without a trace, any run of the id. */
export interface WantedRun {
  readonly id: string;
  readonly traceId: string | undefined;
}

export interface PlaceSearch {
  /** Project whose run comes first if several runs have one id. */
  readonly projectId?: string | undefined;
  /** Keeps others from changing these runs until the transaction ends. */
  readonly lock?: boolean;
}

export interface FoundPlace extends RunPlace {
  /** True when updates that came before the statement wait for its run. */
  readonly isAwaited: boolean;
  /**
   * True when its project was deleted and its rows are to be removed; such a run is found only to be locked.
   */
  readonly isLeft: boolean;
}

/**
 * One place for each wanted run, in their order; undefined for unknown runs. Clients choose ids, so one id
 * may occur in any number of traces, and they are never all read. Runs of deleted projects are found only
 * when they are locked.
 */
export async function findPlaces(
  db: Queryable,
  tenantId: string,
  wanted: readonly WantedRun[],
  { projectId, lock = false }: PlaceSearch = {},
): Promise<readonly (FoundPlace | undefined)[]> {
  if (wanted.length === 0) return [];
  // sorted: two batches with the same runs wait for one another instead of deadlocking
  const result = await db.query<
    KeyRow & { readonly at: string; readonly is_awaited: string; readonly is_left: string }
  >({
    text: `SELECT w.at, k.*, ${lock ? IS_AWAITED : 'false'} AS is_awaited, ${lock ? IS_LEFT : 'false'} AS is_left FROM (
        SELECT * FROM unnest($2::uuid[], $3::uuid[]) WITH ORDINALITY AS u(id, trace_id, at) ORDER BY id, trace_id
      ) w CROSS JOIN LATERAL (
        SELECT id, trace_id, start_time, project_id FROM run_keys
        WHERE tenant_id = $1 AND id = w.id AND (w.trace_id IS NULL OR trace_id = w.trace_id)${lock ? '' : ` AND NOT ${IS_LEFT}`}
        ORDER BY ${projectId === undefined ? '' : 'project_id = $4 DESC, '}trace_id LIMIT 1 ${lock ? 'FOR UPDATE' : ''}
      ) k`,
    values: [
      tenantId,
      wanted.map(({ id }) => id),
      wanted.map(({ traceId }) => traceId ?? null),
      ...(projectId === undefined ? [] : [projectId]),
    ],
    types: textTypes,
  });
  const found = new Map(
    result.rows.map((row) => [
      Number(row.at) - 1,
      { ...placeOf(tenantId, row), isAwaited: row.is_awaited === 't', isLeft: row.is_left === 't' },
    ]),
  );
  return wanted.map((_run, at) => found.get(at));
}

const FIND_ROOTS = `
SELECT r.id, r.trace_id, r.start_time, r.project_id FROM unnest($2::uuid[]) AS w(id) CROSS JOIN LATERAL (
  SELECT min(k.start_time) AS first, max(k.start_time) AS last FROM run_keys k
  WHERE k.tenant_id = $1 AND k.trace_id = w.id
) k CROSS JOIN LATERAL (
  SELECT t.id, t.trace_id, t.start_time, t.project_id FROM runs t
  WHERE t.tenant_id = $1 AND t.trace_id = w.id AND t.start_time >= k.first AND t.start_time <= k.last AND t.is_root
    AND ($3::uuid[] IS NULL OR t.project_id = ANY ($3::uuid[])) AND t.project_id <> ALL (${deletedProjects('$1')})
  ORDER BY t.start_time, t.id LIMIT 1
) r`;

/**
 * The root of each of these traces that has one, by the id of the trace; of several roots the one that began first. Traces
 * of OpenTelemetry have ids of their own; those of LangSmith have the id of their root.
 */
export async function findRoots(
  db: Queryable,
  tenantId: string,
  traceIds: readonly string[],
  projectIds: readonly string[] | undefined,
): Promise<ReadonlyMap<string, RunPlace>> {
  const { rows } = await db.query<KeyRow>({
    text: FIND_ROOTS,
    values: [tenantId, traceIds, projectIds ?? null],
    types: textTypes,
  });
  return new Map(rows.map((row) => [row.trace_id, placeOf(tenantId, row)]));
}

function placeOf(tenantId: string, row: KeyRow): RunPlace {
  return {
    tenantId,
    id: row.id,
    traceId: row.trace_id,
    startTime: parseInstant(row.start_time, { zone: 'optional' }) ?? 0n,
    projectId: row.project_id,
  };
}
