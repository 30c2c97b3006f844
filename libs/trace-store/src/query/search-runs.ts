import type { Connection, Pool } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { filterSql } from '../filter/filter-sql.js';
import { feedbackStats } from '../feedback/feedback-stats.js';
import type { PayloadStore } from '../run/payload-store.js';
import { readRuns, RUN_COLUMNS } from '../run/run-table.js';
import type { RunRow } from '../run/stored-run.js';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import { keyConditions, Parameters, runConditions, timeConditions } from './run-conditions.js';
import { withChildren } from './with-children.js';
import { withTotals } from './with-totals.js';
import { deletedProjects } from '../project/project-deletions.js';
import type { RunPage, RunPageOptions, RunSearch } from './run-search.js';

/** Of a page: a condition that no index serves may read every run of a project. */
const LIMIT: ReadLimit = {
  what: 'Finding these runs',
  advice: 'ask for fewer projects, a shorter time or one trace',
};

/** One page of the runs of a tenant that are wanted. @throws PublicError bad_request when finding them takes too long */
export async function searchRuns(
  pool: Pool,
  payloads: Pick<PayloadStore, 'getSome' | 'sizes'>,
  { tenantId, search, page }: SearchRequest,
): Promise<RunPage> {
  const found = await limitedRead(pool, (db) => readPage(db, payloads, { tenantId, search, page }), LIMIT);
  const runs = page.children ? await withChildren(pool, tenantId, found.runs, page.hold) : found.runs;
  if (page.totals !== true) return { ...found, runs };
  const rows = await withTotals(
    pool,
    tenantId,
    runs.map(({ row }) => row),
  );
  return { ...found, runs: runs.map((run, at) => ({ ...run, row: rows[at] ?? run.row })) };
}

export interface SearchRequest {
  readonly tenantId: string;
  readonly search: RunSearch;
  readonly page: RunPageOptions;
}

async function readPage(
  db: Connection,
  payloads: Pick<PayloadStore, 'getSome' | 'sizes'>,
  request: SearchRequest,
): Promise<RunPage> {
  const { limit, fields, feedback = false, maxBytes, hold } = request.page;
  const parameters = new Parameters();
  const text = pageQuery(request, parameters);
  const found = await readRuns(db, text, parameters.values); // one more than the page has
  const sizes = (await payloads.sizes(db, found, fields)).map((size, at) => size + bytesOfRow(found[at]));
  const stats = feedback
    ? await feedbackStats(db, request.tenantId, found.slice(0, limit))
    : new Map<number, string | null>();
  let bytes = 0;
  let count = 0;
  while (count < Math.min(found.length, limit)) {
    const ofRun = stats.get(count);
    const size = (sizes[count] ?? 0) + (ofRun?.length ?? 0);
    if (count > 0 && (ofRun === null || bytes + size > maxBytes)) break;
    bytes += size;
    count++;
  }
  hold?.(bytes);
  const rows = found.slice(0, count);
  const read = await payloads.getSome(db, rows, fields);
  const runs = rows.map((row, at) => ({
    ...{ row, payloads: read[at] ?? {} },
    feedbackStats: stats.get(at) ?? undefined,
  }));
  return { runs, next: count < found.length ? cursorOf(rows.at(-1)) : undefined };
}

/** About as many as a row takes: tags and ancestors may be many. */
function bytesOfRow(row: RunRow | undefined): number {
  if (!row) return 0;
  const { name, dottedOrder, tags, parentRunIds, threadId = '' } = row;
  const texts = name.length + dottedOrder.length + threadId.length + 40 * parentRunIds.length;
  return tags.reduce((sum, tag) => sum + tag.length + 3, texts);
}

function cursorOf(row: RunRow | undefined): RunPage['next'] {
  return row && { startTime: row.startTime, id: row.id, traceId: row.traceId };
}

/** Rows of the page and one more, from where the fewest are read. */
function pageQuery({ tenantId, search, page }: SearchRequest, parameters: Parameters): string {
  const { order, limit } = page;
  const direction = order === 'ascending' ? 'ASC' : 'DESC';
  const orderOf = (table: 'k' | 'r'): string =>
    `ORDER BY ${table}.start_time ${direction}, ${table}.id ${direction}, ${table}.trace_id ${direction}`;
  const most = parameters.add(limit + 1);
  const inOrder = `${orderOf('r')} LIMIT ${most}`;
  const tenant = parameters.add(tenantId);
  const projects = search.projectIds && `${parameters.add(search.projectIds)}::uuid[]`;
  const of = (table: string): string =>
    `${table}.tenant_id = ${tenant} AND ${projects ? `${table}.project_id = ANY(${projects})` : `${table}.project_id <> ALL (${deletedProjects(tenant)})`}`;
  const wanted = [
    ...runConditions(search, parameters),
    ...placeConditions('r', page, parameters),
    filterSql(search.filters ?? {}, parameters),
  ]
    .map((condition) => ` AND ${condition}`)
    .join('');
  if (search.ids || search.traceId !== undefined) {
    const named = [
      ...keyConditions(search, parameters),
      ...timeConditions('k', search, parameters),
      ...placeConditions('k', page, parameters),
    ];
    // keys say in which partition a run lies; they are in the page's order, so that no run is looked up beyond its end
    return `SELECT ${RUN_COLUMNS} FROM (
      SELECT * FROM run_keys k WHERE ${of('k')} AND ${named.join(' AND ')} ${orderOf('k')}
    ) k CROSS JOIN LATERAL (
      SELECT * FROM runs r WHERE r.tenant_id = ${tenant} AND r.project_id = k.project_id
        AND r.start_time = k.start_time AND r.id = k.id AND r.trace_id = k.trace_id${wanted} LIMIT 1
    ) r ${orderOf('k')} LIMIT ${most}`;
  }
  if (search.parentRunId !== undefined)
    // else the planner might go through the project in its order, to find the few children of a run
    return `WITH r AS MATERIALIZED (
      SELECT * FROM runs r WHERE ${of('r')}${wanted}
    ) SELECT ${RUN_COLUMNS} FROM r ${inOrder}`;
  const given = projects
    ? `unnest(${projects}) AS p(id)`
    : `(SELECT id FROM projects WHERE tenant_id = ${tenant}) AS p`;
  return `SELECT ${RUN_COLUMNS} FROM ${given} CROSS JOIN LATERAL (
    SELECT * FROM runs r WHERE r.tenant_id = ${tenant} AND r.project_id = p.id${wanted} ${inOrder}
  ) r ${inOrder}`;
}

/** The page's place in the order, of rows of `runs` or of their keys. */
function placeConditions(
  table: 'k' | 'r',
  { order, after }: RunPageOptions,
  parameters: Parameters,
): string[] {
  if (!after) return [];
  const time = `${parameters.add(formatInstant(after.startTime))}::timestamptz`;
  const [id, traceId] = [parameters.add(after.id), parameters.add(after.traceId)];
  const way = order === 'ascending' ? '>' : '<';
  // the first of them says which partitions are left
  return [
    `${table}.start_time ${way}= ${time} AND (${table}.start_time, ${table}.id, ${table}.trace_id) ${way} (${time}, ${id}::uuid, ${traceId}::uuid)`,
  ];
}
