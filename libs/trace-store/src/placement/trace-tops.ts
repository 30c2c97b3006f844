import { type Connection, inTransaction, type Pool, type Queryable } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { timesOfTraces } from '../query/run-search.js';
import { findPlaces, runKey } from '../run/run-keys.js';
import type { RunPlace, RunRow } from '../run/stored-run.js';
import { markRoots, selectRuns } from '../run/run-table.js';
import { recordChange } from '../statistics/run-statistics-table.js';

/** A run that a batch has made. */
export interface MadeRun extends RunPlace {
  readonly parentRunId: string | undefined;
}

/** A trace in one project. */
type TraceOfProject = Pick<RunPlace, 'projectId' | 'traceId'>;

function traceKey({ projectId, traceId }: TraceOfProject): string {
  return `${traceId} ${projectId}`;
}

/** Runs of a batch whose parents are not in it, as lists of ids, traces, parents and projects. */
export function strangersOf(made: readonly MadeRun[]): readonly (readonly string[])[] {
  const known = new Set(made.map((run) => `${runKey(run)} ${run.projectId}`));
  const some = made.flatMap((run) => {
    const { parentRunId: id, traceId, projectId } = run;
    return id === undefined || known.has(`${runKey({ id, traceId })} ${projectId}`)
      ? []
      : [{ ...run, parent: id }];
  });
  return [
    some.map(({ id }) => id),
    some.map(({ traceId }) => traceId),
    some.map(({ parent }) => parent),
    some.map(({ projectId }) => projectId),
  ];
}

/** Selects the given runs whose parents are not stored in their projects and traces. @param lists parameters, as `strangersOf` has them */
export function orphansSql(lists: string): string {
  return `SELECT o.id, o.trace_id FROM unnest(${lists}) AS o(id, trace_id, parent, project_id)
    WHERE NOT EXISTS (SELECT FROM run_keys k
      WHERE k.tenant_id = $1 AND k.id = o.parent AND k.trace_id = o.trace_id AND k.project_id = o.project_id)`;
}

const LOCK = `INSERT INTO trace_tops AS t (tenant_id, project_id, trace_id)
SELECT $1, * FROM unnest($2::uuid[], $3::uuid[]) AS d(project_id, trace_id) ORDER BY trace_id, project_id
ON CONFLICT (tenant_id, trace_id, project_id) DO UPDATE SET run_id = t.run_id
RETURNING project_id AS "projectId", trace_id AS "traceId", run_id AS "runId"`;

/** Rows of runs `t` of the traces `$2` in the projects `$3`, between the times `$4` and `$5`. */
const OF_TRACES = `unnest($2::uuid[], $3::uuid[]) AS d(trace_id, project_id) CROSS JOIN LATERAL (
  SELECT t.id FROM runs t WHERE t.tenant_id = $1 AND t.trace_id = d.trace_id
    AND t.project_id IS NOT DISTINCT FROM d.project_id AND t.start_time >= $4 AND t.start_time <= $5`;

/** Traces that have a root. */
const ROOTED = `SELECT d.trace_id AS "traceId", d.project_id AS "projectId" FROM ${OF_TRACES}
    AND t.is_root AND t.parent_run_id IS NULL LIMIT 1
) r`;

/** The first run of each trace whose parent is not stored. */
const FIRST_ORPHANS = `SELECT r.id, d.trace_id AS "traceId" FROM ${OF_TRACES}
    AND NOT EXISTS (SELECT FROM run_keys k WHERE k.tenant_id = $1 AND k.id = t.parent_run_id
      AND k.trace_id = t.trace_id AND k.project_id = t.project_id)
  ORDER BY t.start_time, t.id LIMIT 1
) r`;

async function ofTraces<R extends object>(
  db: Queryable,
  tenantId: string,
  text: string,
  traces: readonly TraceOfProject[],
): Promise<readonly R[]> {
  const ids = traces.map(({ traceId }) => traceId);
  const times = traces.length === 0 ? undefined : await timesOfTraces(db, tenantId, ids);
  if (!times) return [];
  const projects = traces.map(({ projectId }) => projectId);
  return (await db.query<R>(text, [tenantId, ids, projects, times.first, times.last])).rows;
}

/**
 * Keeps one root for each trace that has runs in a project: while its root has not come, the first of its
 * runs whose parent has not come represents it (`is_root`), and `trace_tops` says which.
 *
 * The later commit of a run's and its parent's finds the other: both look after their commits, and a process
 * that has marked a run looks once more.
 * @param made runs of the batch
 * @param met runs that a lookup after its commit has found
 */
export async function settleTops(
  pool: Pool,
  tenantId: string,
  made: readonly MadeRun[],
  met: { readonly orphans: readonly string[]; readonly topless: readonly TraceOfProject[] },
): Promise<void> {
  const known = new Set(met.orphans);
  const orphans = made.filter((run) => known.has(runKey(run)));
  const rooted = new Set(made.filter((run) => run.parentRunId === undefined).map(traceKey));
  const all = new Map([...orphans, ...met.topless].map((trace) => [traceKey(trace), trace]));
  let traces: readonly TraceOfProject[] = [...all.values()];
  for (let pass = 1; traces.length > 0; pass++) {
    const some = traces;
    traces = await inTransaction(pool, (client) =>
      settleSome(client, tenantId, some, {
        orphans: pass === 1 ? orphans : [],
        mayBeRooted: (trace) => pass > 1 || rooted.has(traceKey(trace)),
      }),
    );
  }
}

/** @returns traces in which a run was marked */
async function settleSome(
  client: Connection,
  tenantId: string,
  traces: readonly TraceOfProject[],
  {
    orphans,
    mayBeRooted,
  }: { readonly orphans: readonly RunPlace[]; readonly mayBeRooted: (trace: TraceOfProject) => boolean },
): Promise<readonly TraceOfProject[]> {
  const { rows: locked } = await client.query<TraceOfProject & { readonly runId: string | null }>(LOCK, [
    tenantId,
    traces.map(({ projectId }) => projectId),
    traces.map(({ traceId }) => traceId),
  ]);
  const tops = locked.flatMap((top) => (top.runId === null ? [] : [{ id: top.runId, traceId: top.traceId }]));
  const rows = [...(await lockedRuns(client, tenantId, [...orphans, ...tops]))];
  const looked = locked.filter((top) => top.runId === null || mayBeRooted(top));
  const rooted = new Set((await ofTraces<TraceOfProject>(client, tenantId, ROOTED, looked)).map(traceKey));
  const open = new Map(Map.groupBy(await orphansOf(client, tenantId, rows), traceKey));
  const lost = locked.filter((top) => !rooted.has(traceKey(top)) && !open.has(traceKey(top)));
  const others = await ofTraces<{ id: string; traceId: string }>(client, tenantId, FIRST_ORPHANS, lost);
  for (const row of await lockedRuns(client, tenantId, others)) {
    open.set(traceKey(row), [row]);
    rows.push(row);
  }
  const chosen = new Map<string, RunRow>();
  for (const [key, some] of open)
    if (!rooted.has(key))
      chosen.set(
        key,
        some.reduce((first, row) => (isBefore(row, first) ? row : first)),
      );
  const changed = rows.filter(
    (row) => row.parentRunId !== undefined && row.isRoot !== (chosen.get(traceKey(row))?.id === row.id),
  );
  const after = changed.map((row) => ({ ...row, isRoot: !row.isRoot }));
  await markRoots(client, tenantId, after);
  await recordChange(client, tenantId, changed, after);
  await client.query(
    `WITH gone AS (
      DELETE FROM trace_tops t USING unnest($2::uuid[], $3::uuid[], $4::uuid[]) AS d(project_id, trace_id, run_id)
      WHERE t.tenant_id = $1 AND t.trace_id = d.trace_id AND t.project_id = d.project_id AND d.run_id IS NULL
    )
    UPDATE trace_tops t SET run_id = d.run_id, start_time = d.start_time
    FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[]) AS d(project_id, trace_id, run_id, start_time)
    WHERE t.tenant_id = $1 AND t.trace_id = d.trace_id AND t.project_id = d.project_id
      AND t.run_id IS DISTINCT FROM d.run_id AND d.run_id IS NOT NULL`,
    [
      tenantId,
      locked.map(({ projectId }) => projectId),
      locked.map(({ traceId }) => traceId),
      locked.map((top) => chosen.get(traceKey(top))?.id ?? null),
      locked.map((top) => {
        const run = chosen.get(traceKey(top));
        return run ? formatInstant(run.startTime) : null;
      }),
    ],
  );
  return after.filter(({ isRoot }) => isRoot);
}

function isBefore(one: RunRow, other: RunRow): boolean {
  return one.startTime === other.startTime ? one.id < other.id : one.startTime < other.startTime;
}

/** Rows of these runs, whose keys are locked then, each once. */
async function lockedRuns(
  client: Connection,
  tenantId: string,
  runs: readonly { readonly id: string; readonly traceId: string }[],
): Promise<readonly RunRow[]> {
  const wanted = [...new Map(runs.map((run) => [runKey(run), run])).values()];
  const places = await findPlaces(client, tenantId, wanted, { lock: true });
  return selectRuns(
    client,
    tenantId,
    places.filter((place) => place !== undefined),
  );
}

/** Selects the given runs whose parents are not stored in their projects. */
async function orphansOf(
  client: Connection,
  tenantId: string,
  rows: readonly RunRow[],
): Promise<readonly RunRow[]> {
  const children = rows.flatMap((row) =>
    row.parentRunId === undefined ? [] : [{ row, id: row.parentRunId }],
  );
  const parents = await findPlaces(
    client,
    tenantId,
    children.map(({ row, id }) => ({ id, traceId: row.traceId })),
  );
  return children.flatMap(({ row }, at) => (parents[at]?.projectId === row.projectId ? [] : [row]));
}
