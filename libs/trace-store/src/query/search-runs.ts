import type { Connection, Pool } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import { filterSql } from '../filter/filter-sql.js';
import { feedbackStats } from '../feedback/feedback-stats.js';
import type { PayloadStore } from '../run/payload-store.js';
import { readMarkedRuns, RUN_COLUMNS } from '../run/run-table.js';
import type { RunRow } from '../run/stored-run.js';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import {
  keyConditions,
  type KeyTimes,
  Parameters,
  runConditions,
  type RunPage,
  type RunPageOptions,
  type RunSearch,
  timeConditions,
  timesOfNamed,
  within,
} from './run-search.js';
import { withChildren, withInterrupted, withTotals } from './find-run.js';
import { deletedProjects } from '../project/project-deletions.js';
import { findRoots } from '../run/run-keys.js';

/** Time limit of a page: a condition that no index serves may read every run of a project. */
const LIMIT: ReadLimit = {
  what: 'Finding these runs',
  advice: 'ask for fewer projects, a shorter time or one trace',
};

/** Bytes of payloads that are read together with their sizes: a connection holds no more than this before they are counted. */
const MOST_AT_ONCE = 1024 * 1024;

export interface SearchRequest {
  readonly tenantId: string;
  readonly search: RunSearch;
  readonly page: RunPageOptions;
}

/**
 * One page of the matching runs of a tenant.
 * @throws PublicError bad_request when finding them takes too long
 */
export async function searchRuns(
  pool: Pool,
  payloads: Pick<PayloadStore, 'look' | 'getSome'>,
  request: SearchRequest,
): Promise<RunPage> {
  const { tenantId, page } = request;
  const found = await limitedRead(pool, (db) => readPage(db, payloads, request), LIMIT);
  if (!page.children) return found;
  return { ...found, runs: await withChildren(pool, tenantId, found.runs, page.hold) };
}

async function readPage(
  db: Connection,
  payloads: Pick<PayloadStore, 'look' | 'getSome'>,
  asked: SearchRequest,
): Promise<RunPage> {
  const { tenantId, page } = asked;
  const search = await withRootsOf(db, asked);
  const request = { ...asked, search };
  const isNamed = search.ids !== undefined || search.traceId !== undefined;
  const times = isNamed ? await timesOfNamed(db, tenantId, search) : undefined;
  if (isNamed && !times) return { runs: [], next: undefined };
  const parameters = new Parameters();
  const text = pageQuery(request, parameters, times);
  const marked = await readMarkedRuns(db, text, parameters.values); // one more than the page has
  const rows = marked.slice(0, page.limit).map(({ row }) => row);
  const seen = await payloads.look(db, rows, page.fields, Math.min(page.maxBytes, MOST_AT_ONCE));
  const withFeedback = marked.slice(0, page.limit).some(({ isMarked }) => isMarked);
  const stats = withFeedback ? await feedbackStats(db, tenantId, rows) : NO_STATS;
  const sizes = rows.map((row, at) => (seen[at]?.bytes ?? 0) + bytesOfRow(row));
  const { count, bytes } = endOfPage(sizes, stats, page.maxBytes);
  page.hold?.(bytes);
  const own = rows.slice(0, count);
  const left = own.filter((_row, at) => !seen[at]?.payloads);
  const read = new Map((await payloads.getSome(db, left, page.fields)).map((one, at) => [left[at], one]));
  const ended = await withInterrupted(db, tenantId, own);
  // last, since the transaction is aborted where this exceeds its time limit
  const summed = page.totals ? await withTotals(db, tenantId, ended, search.ids ? undefined : times) : ended;
  const runs = own.map((row, at) => ({
    row: summed[at] ?? row,
    payloads: seen[at]?.payloads ?? read.get(row) ?? {},
    feedbackStats: stats.get(at) ?? undefined,
  }));
  return { runs, next: count < marked.length ? cursorOf(own.at(-1)) : undefined };
}

/** The search with the roots of the traces that its ids name. */
async function withRootsOf(db: Connection, { tenantId, search }: SearchRequest): Promise<RunSearch> {
  const { ids, mayNameTraces } = search;
  if (!ids || mayNameTraces !== true) return search;
  const roots = await findRoots(db, tenantId, ids, search.projectIds);
  return { ...search, ids: [...new Set([...ids, ...[...roots.values()].map(({ id }) => id)])] };
}

const NO_STATS: ReadonlyMap<number, string | null> = new Map();

/** Number of runs on a page, out of those that were found; one at least. */
function endOfPage(
  sizes: readonly number[],
  stats: ReadonlyMap<number, string | null>,
  maxBytes: number,
): { readonly count: number; readonly bytes: number } {
  let bytes = 0;
  let count = 0;
  for (const own of sizes) {
    const ofRun = stats.get(count);
    const size = own + (ofRun?.length ?? 0);
    if (count > 0 && (ofRun === null || bytes + size > maxBytes)) break;
    bytes += size;
    count++;
  }
  return { count, bytes };
}

/** Approximate number of bytes of a row: tags and ancestors may be many. */
function bytesOfRow(row: RunRow): number {
  const { name, dottedOrder, tags, parentRunIds, threadId = '' } = row;
  const texts = name.length + dottedOrder.length + threadId.length + 40 * parentRunIds.length;
  return tags.reduce((sum, tag) => sum + tag.length + 3, texts);
}

function cursorOf(row: RunRow | undefined): RunPage['next'] {
  return row && { startTime: row.startTime, id: row.id, traceId: row.traceId };
}

/**
 * Rows of the page and one more, from where the fewest are read, with a mark on those that have feedback where that is
 * asked for.
 * @param times of the runs that are named
 */
function pageQuery(
  { tenantId, search, page }: SearchRequest,
  parameters: Parameters,
  times: KeyTimes | undefined,
): string {
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
  // a scalar one: it is never looked up for all of the table at once
  const mark = page.feedback
    ? `(SELECT 1 FROM feedback f WHERE f.tenant_id = ${tenant} AND f.run_id = r.id
        AND f.project_id = r.project_id AND f.trace_id = r.trace_id LIMIT 1) IS NOT NULL`
    : 'FALSE';
  const columns = `${RUN_COLUMNS}, ${mark}`;
  if (times) {
    const named = [
      ...keyConditions(search, parameters),
      ...timeConditions('k', search, parameters),
      ...placeConditions('k', page, parameters),
    ];
    // keys give the partition of a run; they are in the page's order, so that no run is looked up beyond its
    // end
    return `SELECT ${columns} FROM (
      SELECT * FROM run_keys k WHERE ${of('k')} AND ${named.join(' AND ')} ${orderOf('k')}
    ) k CROSS JOIN LATERAL (
      SELECT * FROM runs r WHERE r.tenant_id = ${tenant} AND r.project_id = k.project_id
        AND r.start_time = k.start_time AND r.id = k.id AND r.trace_id = k.trace_id
        AND ${within('r', times, parameters)}${wanted} LIMIT 1
    ) r ${orderOf('k')} LIMIT ${most}`;
  }
  if (search.parentRunId !== undefined)
    // else the planner might go through the project in its order, to find the few children of a run
    return `WITH r AS MATERIALIZED (
      SELECT * FROM runs r WHERE ${of('r')}${wanted}
    ) SELECT ${columns} FROM r ${inOrder}`;
  const given = projects
    ? `unnest(${projects}) AS p(id)`
    : `(SELECT id FROM projects WHERE tenant_id = ${tenant}) AS p`;
  return `SELECT ${columns} FROM ${given} CROSS JOIN LATERAL (
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
  // the first of them shows which partitions are left
  return [
    `${table}.start_time ${way}= ${time} AND (${table}.start_time, ${table}.id, ${table}.trace_id) ${way} (${time}, ${id}::uuid, ${traceId}::uuid)`,
  ];
}
