import { type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import { filterSql, sealedPlacesSql } from '../filter/filter-sql.js';
import { lightFilters, payloadsOf, type RunFilters } from '../filter/payload-filters.js';
import type { SealedPlaces } from '../lake/sealed-loader.js';
import { Parameters, runConditions } from '../query/run-search.js';

/** Conditions on threads: those match whose traces meet all of it. */
export interface ThreadSearch {
  readonly projectId: string;
  readonly threadId?: string | undefined;
  /** The traces began then or later. */
  readonly from?: Instant | undefined;
  /** The traces began then or earlier. */
  readonly to?: Instant | undefined;
  /** Filters on the roots of the traces. */
  readonly filters?: RunFilters | undefined;
}

/** A search whose transaction is begun. */
export interface BegunSearch extends ThreadSearch {
  /** True when payloads of sealed roots are loaded for it. */
  readonly readsSealed?: boolean;
}

/** Position of a page: the last root of the thread before it, by time, then by ids. */
export interface ThreadCursor {
  readonly lastStartTime: Instant;
  readonly rootId: string;
  readonly traceId: string;
}

export interface ThreadPageOptions {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly after?: ThreadCursor | undefined;
  /** True when all of them are to be counted, which costs more for a longer time range. */
  readonly isCounted?: boolean | undefined;
}

/** A conversation: the matching traces of a project with the same thread id. */
export interface Thread {
  readonly threadId: string;
  readonly traces: number;
  /**
   * True when failures, end, latencies, tokens and costs are those of its newest 1,000 traces alone: on a
   * page that has more of it.
   */
  readonly isPartial: boolean;
  readonly failed: number;
  readonly firstStartTime: Instant;
  readonly lastStartTime: Instant;
  /** Undefined while all of its traces last. */
  readonly lastEndTime: Instant | undefined;
  readonly firstTraceId: string;
  readonly lastTraceId: string;
  /** Seconds. */
  readonly latencyP50: number | undefined;
  readonly latencyP99: number | undefined;
  /** Tokens of the calls of models in these traces. */
  readonly totalTokens: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Decimal texts; undefined when no call has a cost. */
  readonly totalCost: string | undefined;
  readonly promptCost: string | undefined;
  readonly completionCost: string | undefined;
  /** The beginnings of payloads. */
  readonly firstInputs: string | undefined;
  readonly lastOutputs: string | undefined;
  readonly lastError: string | undefined;
}

export interface ThreadPage {
  /** Threads sorted by the begin of their last trace, the newest first. */
  readonly threads: readonly Thread[];
  /** Number of threads on all pages; undefined unless they are to be counted. */
  readonly total: number | undefined;
  readonly next: ThreadCursor | undefined;
}

export interface Threads {
  /** @throws PublicError bad_request when finding them takes longer than a few seconds */
  list(tenantId: string, search: ThreadSearch, page: ThreadPageOptions): Promise<ThreadPage>;
}

/**
 * Number of roots that are walked for one page; if they are not enough, the threads of the whole time are
 * gathered.
 */
const MOST_ROOTS = 10_000;
const ROOTS_AT_ONCE = 1_000;

/** A thread by its last root. */
export interface PlacedThread extends ThreadCursor {
  readonly threadId: string;
}

/** Threads of one page, and of those after it. */
interface PlacedThreads {
  /** Threads in the order of the page, one more than the page has if more follow. */
  readonly found: readonly PlacedThread[];
  /** Number of threads in all, if finding them has shown it. */
  readonly total: number | undefined;
}

type RootRow = Readonly<Record<'thread_id' | 'start_time' | 'id' | 'trace_id', string>>;

const ROOT = '(r.start_time, r.id, r.trace_id)';
const NEWEST_FIRST = 'r.start_time DESC, r.id DESC, r.trace_id DESC';

/** Sealed roots whose payloads statements with `rootCondition` may read. */
export function sealedRoots(tenantId: string, search: ThreadSearch): SealedPlaces {
  const { filters = {}, projectId } = search;
  const parameters = new Parameters();
  const rowsOf = (columns: string, condition: string): string =>
    `SELECT ${columns} FROM runs r WHERE ${rootCondition(tenantId, { ...search, filters: lightFilters(filters) }, parameters)} AND ${condition}`;
  const text = sealedPlacesSql(filters, rowsOf, parameters);
  return {
    tenantId,
    projectIds: [projectId],
    fields: payloadsOf(filters),
    text,
    values: parameters.values,
  };
}

/** Condition on a row of `runs r` that is a root of a matching thread. */
export function rootCondition(tenantId: string, search: ThreadSearch, parameters: Parameters): string {
  const { projectId, threadId, from, to, filters } = search;
  return [
    `r.tenant_id = ${parameters.add(tenantId)}::uuid AND r.project_id = ${parameters.add(projectId)}::uuid`,
    'r.thread_id IS NOT NULL',
    ...runConditions({ isRoot: true, threadId, from, to }, parameters),
    filterSql(filters ?? {}, parameters),
  ].join(' AND ');
}

/**
 * Threads of a page, by the time of their last root, then by that root's ids: roots walked from the newest on
 * meet each thread first at its last root, so that the walk ends with the page, however many began in one
 * microsecond. A page behind so many roots of few threads costs a pass over all roots of the time.
 * @param mostRoots that are walked
 */
export async function findThreads(
  db: Queryable,
  tenantId: string,
  search: BegunSearch,
  page: ThreadPageOptions,
  mostRoots = MOST_ROOTS,
): Promise<PlacedThreads> {
  const walk = new ThreadWalk(db, tenantId, search, page.after);
  const wanted = (page.offset ?? 0) + page.limit + 1;
  // each root shows one thread at most
  const end = wanted > mostRoots ? 'given up' : await walk.until(wanted, mostRoots);
  if (end === 'given up') return { found: await gatherThreads(db, tenantId, search, page), total: undefined };
  const found = walk.found.slice(page.offset ?? 0, wanted);
  const isAll = end === 'exhausted' && page.after === undefined;
  return { found, total: isAll ? walk.found.length : undefined };
}

/** Number of threads that have a matching root. */
export async function countThreads(db: Queryable, tenantId: string, search: BegunSearch): Promise<number> {
  const parameters = new Parameters(search.readsSealed);
  const condition = rootCondition(tenantId, search, parameters);
  const { rows } = await db.query<{ total: string }>({
    text: `SELECT count(*) AS total FROM (SELECT DISTINCT r.thread_id FROM runs r WHERE ${condition}) t`,
    values: [...parameters.values],
    types: textTypes,
  });
  return Number(rows[0]?.total ?? 0);
}

/** Roots from the newest on, or from the end of a page before. */
class ThreadWalk {
  readonly #met = new Set<string>();
  /** Threads in their order. */
  readonly found: PlacedThread[] = [];

  constructor(
    private readonly db: Queryable,
    private readonly tenantId: string,
    private readonly search: BegunSearch,
    private readonly after: ThreadCursor | undefined,
  ) {}

  async until(wanted: number, mostRoots: number): Promise<'enough' | 'exhausted' | 'given up'> {
    const parameters = new Parameters(this.search.readsSealed);
    const condition = rootCondition(this.tenantId, this.search, parameters);
    const before = this.after
      ? ` AND r.start_time <= ${timeOf(this.after, parameters)} AND ${ROOT} < ${placeOf(this.after, parameters)}`
      : '';
    await this.db.query(
      `DECLARE roots NO SCROLL CURSOR FOR SELECT r.thread_id, r.start_time, r.id, r.trace_id
      FROM runs r WHERE ${condition}${before} ORDER BY ${NEWEST_FIRST} LIMIT ${mostRoots}`,
      [...parameters.values],
    );
    for (let walked = 0; ;) {
      const { rows } = await this.db.query<RootRow>({
        text: `FETCH ${ROOTS_AT_ONCE} FROM roots`,
        types: textTypes,
      });
      walked += rows.length;
      await this.#take(rows.map(parse));
      if (this.found.length >= wanted) return 'enough';
      if (rows.length < ROOTS_AT_ONCE) return walked < mostRoots ? 'exhausted' : 'given up';
    }
  }

  async #take(roots: readonly PlacedThread[]): Promise<void> {
    const some = roots.filter(({ threadId }) => {
      const isNew = !this.#met.has(threadId);
      this.#met.add(threadId);
      return isNew;
    });
    const { after } = this;
    if (!after || some.length === 0) {
      this.found.push(...some);
      return;
    }
    const earlier = await this.#ofEarlierPages(after, some);
    this.found.push(...some.filter(({ threadId }) => !earlier.has(threadId)));
  }

  /** Threads among these whose last root is on a page before, or is newer. */
  async #ofEarlierPages(after: ThreadCursor, some: readonly PlacedThread[]): Promise<ReadonlySet<string>> {
    const parameters = new Parameters(this.search.readsSealed);
    const condition = rootCondition(this.tenantId, this.search, parameters);
    const threads = parameters.add(some.map(({ threadId }) => threadId));
    const time = timeOf(after, parameters);
    const later = (where: string): string =>
      `(SELECT FROM runs r WHERE ${condition} AND r.thread_id = t.id AND ${where} LIMIT 1)`;
    const { rows } = await this.db.query<{ id: string }>({
      text: `SELECT t.id FROM unnest(${threads}::text[]) AS t(id) CROSS JOIN LATERAL (
        ${later(`r.start_time > ${time}`)} UNION ALL
        ${later(`r.start_time = ${time} AND ${ROOT} >= ${placeOf(after, parameters)}`)} LIMIT 1
      ) l`,
      values: [...parameters.values],
      types: textTypes,
    });
    return new Set(rows.map(({ id }) => id));
  }
}

/**
 * The last roots of threads are looked up for those of the page alone, and for all that began when one of its ends did:
 * the page begins at the cursor's time, or at that of the thread behind its offset.
 */
async function gatherThreads(
  db: Queryable,
  tenantId: string,
  search: BegunSearch,
  { limit, offset = 0, after }: ThreadPageOptions,
): Promise<readonly PlacedThread[]> {
  const parameters = new Parameters(search.readsSealed);
  const condition = rootCondition(tenantId, search, parameters);
  const begin = after
    ? `SELECT ${timeOf(after, parameters)} AS start_time, 0 AS passed`
    : `SELECT k.start_time, (SELECT count(*) FROM a WHERE a.start_time > k.start_time) AS passed
        FROM (SELECT a.start_time FROM a ORDER BY a.start_time DESC LIMIT 1 OFFSET ${offset}) k`;
  // an offset behind the last thread has no time to begin at
  const passed = 'coalesce((SELECT k.passed FROM k), 0)';
  // threads that began at the time of the cursor may be on an earlier page
  const more = after ? ' + (SELECT count(*) FROM a, k WHERE a.start_time = k.start_time)' : '';
  const { rows } = await db.query<RootRow>({
    text: `WITH a AS MATERIALIZED (
        SELECT r.thread_id, max(r.start_time) AS start_time FROM runs r WHERE ${condition} GROUP BY 1
      ), k AS MATERIALIZED (${begin}), b AS (
        SELECT * FROM a WHERE a.start_time <= (SELECT k.start_time FROM k) ORDER BY a.start_time DESC
        FETCH FIRST (${offset + limit + 1} - ${passed}${more}) ROWS WITH TIES
      )
      SELECT b.thread_id, r.start_time, r.id, r.trace_id FROM b CROSS JOIN LATERAL (
        SELECT r.start_time, r.id, r.trace_id FROM runs r
        WHERE ${condition} AND r.thread_id = b.thread_id AND r.start_time = b.start_time
        ORDER BY r.id DESC, r.trace_id DESC LIMIT 1
      ) r ${after ? `WHERE ${ROOT} < ${placeOf(after, parameters)}` : ''}
      ORDER BY ${NEWEST_FIRST} LIMIT ${limit + 1} OFFSET (${offset} - ${passed})`,
    values: [...parameters.values],
    types: textTypes,
  });
  return rows.map(parse);
}

function timeOf({ lastStartTime }: ThreadCursor, parameters: Parameters): string {
  return `${parameters.add(formatInstant(lastStartTime))}::timestamptz`;
}

function placeOf(cursor: ThreadCursor, parameters: Parameters): string {
  const { rootId, traceId } = cursor;
  return `(${timeOf(cursor, parameters)}, ${parameters.add(rootId)}::uuid, ${parameters.add(traceId)}::uuid)`;
}

function parse(row: RootRow): PlacedThread {
  const lastStartTime: Instant = parseInstant(row.start_time, { zone: 'optional' }) ?? 0n;
  return { threadId: row.thread_id, lastStartTime, rootId: row.id, traceId: row.trace_id };
}
