import { PublicError } from '#lib/errors';
import { type Connection, type Pool, textTypes, TimeLimitError } from '#lib/postgres';
import { type Clock, formatInstant, parseInstant } from '#lib/time';
import { filterSql, sealedPlacesSql } from '../filter/filter-sql.js';
import { lightFilters, payloadsOf } from '../filter/payload-filters.js';
import { feedbackStats } from '../feedback/feedback-stats.js';
import type { PayloadStore } from '../run/payload-store.js';
import { type MarkedRun, readMarkedRuns, SELECTED_COLUMNS } from '../run/run-table.js';
import type { RunRow } from '../run/stored-run.js';
import { searchedBits } from '../run/search-marks.js';
import {
  SEALED_READ,
  type SealedLoader,
  type SealedPlaces,
  TooMuchSealedError,
} from '../lake/sealed-loader.js';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import {
  keyConditions,
  type KeyTimes,
  Parameters,
  PIECE_MS,
  readsPayloads,
  runConditions,
  type RunCursor,
  type RunPage,
  type RunPageOptions,
  type RunSearch,
  type SearchPart,
  START_OF_REST,
  timeConditions,
  timesOfNamed,
  type Walk,
  type WalkReads,
  walkRuns,
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

export interface SearchOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Runs that a search in payloads looks at first. */
  readonly firstPiece?: number;
  /** Absent: no day is ever sealed. */
  readonly sealed?: SealedLoader | undefined;
}

/**
 * One page of the matching runs of a tenant.
 * @throws PublicError bad_request when finding them takes too long
 */
export async function searchRuns(
  pool: Pool,
  payloads: Pick<PayloadStore, 'look' | 'getSome'>,
  request: SearchRequest,
  options: SearchOptions,
): Promise<RunPage> {
  const { tenantId, search, page } = request;
  const sealed = payloadsOf(search.filters).length > 0 ? options.sealed : undefined;
  const isWalk =
    (readsPayloads(search.filters) || sealed !== undefined) &&
    !search.ids &&
    search.traceId === undefined &&
    search.parentRunId === undefined;
  const walk = isWalk ? await walkOf(pool, request, options) : undefined;
  const finding = walk ? { walk } : { sealed };
  const limit = finding.sealed ? { ...LIMIT, ...SEALED_READ } : LIMIT;
  const { times, ...found } = await limitedRead(
    pool,
    (db) => readPage(db, payloads, request, finding),
    limit,
  );
  if (!page.children) return found;
  return { ...found, runs: await withChildren(pool, tenantId, found.runs, { hold: page.hold, times }) };
}

/** The runs of a page where a walk has found them; else how payloads are brought to the statement that finds them. */
interface Finding {
  readonly walk?: Walk;
  readonly sealed?: SealedLoader | undefined;
}

async function readPage(
  db: Connection,
  payloads: Pick<PayloadStore, 'look' | 'getSome'>,
  asked: SearchRequest,
  { walk, sealed }: Finding,
): Promise<RunPage & { readonly times?: KeyTimes | undefined }> {
  const { tenantId, page } = asked;
  const search = await withRootsOf(db, asked);
  const request = { ...asked, search };
  const isNamed = search.ids !== undefined || search.traceId !== undefined;
  const times = isNamed ? await timesOfNamed(db, tenantId, search) : undefined;
  if (isNamed && !times) return { runs: [], next: undefined };
  const marked = walk?.marked ?? (await findRuns(db, request, { times }, sealed)); // one more than the page has
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
  const whole = search.ids ? undefined : times;
  const summed = page.totals ? await withTotals(db, tenantId, ended, whole) : ended;
  const runs = own.map((row, at) => ({
    row: summed[at] ?? row,
    payloads: seen[at]?.payloads ?? read.get(row) ?? {},
    feedbackStats: stats.get(at) ?? undefined,
  }));
  const part = walk?.part;
  if (count < marked.length) return { runs, next: cursorOf(own.at(-1), part), times: whole };
  if (part === 'marked') return { runs, next: walk?.reached ?? START_OF_REST };
  return { runs, next: walk?.reached, lookedTo: walk?.reached?.startTime, times: whole };
}

/** Part of the runs that a statement looks at. */
interface Part {
  /** Times of the runs that are named. */
  readonly times?: KeyTimes | undefined;
  /** The last run of the part. */
  readonly until?: RunCursor | undefined;
  /** One more condition on its runs. */
  readonly condition?: string;
}

/** @param sealed the transaction is one for it then */
async function findRuns(
  db: Connection,
  request: SearchRequest,
  part: Part,
  sealed: SealedLoader | undefined,
): Promise<readonly MarkedRun[]> {
  const readsSealed = sealed && (await sealed.prepare(db, sealedPlaces(request, part)));
  const parameters = new Parameters(readsSealed);
  const text = pageQuery(request, parameters, part);
  return readMarkedRuns(db, text, parameters.values);
}

/** Sealed runs whose payloads `findRuns` may read. */
function sealedPlaces({ tenantId, search, page }: SearchRequest, part: Part): SealedPlaces {
  const { filters = {}, projectIds } = search;
  const parameters = new Parameters();
  const light = { ...search, filters: lightFilters(filters) };
  const all = { ...page, limit: Number.MAX_SAFE_INTEGER - 1, feedback: false };
  const rowsOf = (columns: string, condition: string): string =>
    pageQuery({ tenantId, search: light, page: all }, parameters, { ...part, condition }, columns);
  const text = sealedPlacesSql(filters, rowsOf, parameters);
  return { tenantId, projectIds, fields: payloadsOf(filters), text, values: parameters.values };
}

/**
 * Matching runs of a search in payloads, as far as the time of a page goes: those of its first part at once, which roots
 * without the marks of the text are no part of, and the others once these are answered.
 */
async function walkOf(pool: Pool, request: SearchRequest, options: SearchOptions): Promise<Walk> {
  const { page, search } = request;
  const { after } = page;
  const bits = search.isRoot === false ? [] : searchedBits(search.filters?.filter);
  if (bits.length === 0 || (after && !after.part)) return walkPart(pool, request, options);
  if (after?.part !== 'rest') {
    const marked = {
      ...request,
      search: { ...search, isRoot: true, marks: { bits, part: 'marked' } as const },
    };
    const walk = await walkPart(pool, marked, { ...options, firstPiece: Infinity });
    if (walk.marked.length > 0 || walk.reached) return withPart(walk, 'marked');
  }
  const rest = {
    ...request,
    search: { ...search, marks: { bits, part: 'rest' } as const },
    page: { ...page, after: after?.part === 'rest' && after.id !== START_OF_REST.id ? after : undefined },
  };
  return withPart(await walkPart(pool, rest, options), 'rest');
}

function withPart(walk: Walk, part: SearchPart): Walk {
  return { ...walk, part, reached: walk.reached && { ...walk.reached, part } };
}

function walkPart(pool: Pool, request: SearchRequest, options: SearchOptions): Promise<Walk> {
  const { clock, firstPiece } = options;
  const { page, search } = request;
  const sealed = payloadsOf(search.filters).length > 0 ? options.sealed : undefined;
  const limit: ReadLimit = { ...LIMIT, limitMs: PIECE_MS, ...(sealed ? SEALED_READ : {}) };
  const reads: WalkReads = {
    boundary: (after, count) =>
      limitedRead(pool, (db) => findBoundary(db, { ...request, page: { ...page, after } }, count), LIMIT),
    matches: (after, until, most) => {
      const part = { ...request, page: { ...page, after, limit: most } };
      return limitedRead(pool, (db) => findRuns(db, part, { until }, sealed), limit);
    },
    isTooLong: (error) =>
      error instanceof TooMuchSealedError ||
      (error instanceof PublicError && error.cause instanceof TimeLimitError),
  };
  return walkRuns(reads, { after: page.after, limit: page.limit, clock, first: firstPiece });
}

/** The run that is so many after the page's cursor, by the conditions that an index serves. */
async function findBoundary(
  db: Connection,
  { tenantId, search, page }: SearchRequest,
  count: number,
): Promise<RunCursor | undefined> {
  const { projectIds, isRoot, hasError, threadId, from, to } = search;
  const request = {
    tenantId,
    search: { projectIds, isRoot, hasError: hasError === true ? true : undefined, threadId, from, to },
    page: { ...page, limit: count - 1, feedback: false },
  };
  const parameters = new Parameters();
  const text = pageQuery(request, parameters, {}, 'r.start_time, r.id, r.trace_id');
  const { rows } = await db.query<{ start_time: string; id: string; trace_id: string }>({
    text: `${text} OFFSET ${parameters.add(count - 1)}`,
    values: [...parameters.values],
    types: textTypes,
  });
  const [row] = rows;
  return (
    row && {
      startTime: parseInstant(row.start_time, { zone: 'optional' }) ?? 0n,
      id: row.id,
      traceId: row.trace_id,
    }
  );
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

function cursorOf(row: RunRow | undefined, part: SearchPart | undefined): RunPage['next'] {
  return row && { startTime: row.startTime, id: row.id, traceId: row.traceId, part };
}

/**
 * Rows of the page and one more, from where the fewest are read, with a mark on those that have feedback where that is
 * asked for.
 */
function pageQuery(
  { tenantId, search, page }: SearchRequest,
  parameters: Parameters,
  { times, until, condition }: Part,
  asked?: string,
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
    ...untilConditions(page, until, parameters),
    filterSql(search.filters ?? {}, parameters),
    ...(condition === undefined ? [] : [condition]),
  ]
    .map((each) => ` AND ${each}`)
    .join('');
  // a scalar one: it is never looked up for all of the table at once
  const mark = page.feedback
    ? `(SELECT 1 FROM feedback f WHERE f.tenant_id = ${tenant} AND f.run_id = r.id
        AND f.project_id = r.project_id AND f.trace_id = r.trace_id LIMIT 1) IS NOT NULL`
    : 'FALSE';
  const columns = asked ?? `${SELECTED_COLUMNS}, ${mark}`;
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

/** The end of the part of the order that is looked at. */
function untilConditions(
  { order }: RunPageOptions,
  until: RunCursor | undefined,
  parameters: Parameters,
): string[] {
  if (!until) return [];
  const time = `${parameters.add(formatInstant(until.startTime))}::timestamptz`;
  const [id, traceId] = [parameters.add(until.id), parameters.add(until.traceId)];
  const way = order === 'ascending' ? '<=' : '>=';
  return [
    `r.start_time ${way} ${time} AND (r.start_time, r.id, r.trace_id) ${way} (${time}, ${id}::uuid, ${traceId}::uuid)`,
  ];
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
