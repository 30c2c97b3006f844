import { type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import { filterSql } from '../filter/filter-sql.js';
import { Parameters, runConditions } from '../query/run-conditions.js';
import type { ThreadCursor, ThreadPageOptions, ThreadSearch } from './thread.js';

/** Roots that are walked for one page; where they are not enough, the threads of the whole time are gathered. */
const MOST_ROOTS = 10_000;
const ROOTS_AT_ONCE = 1_000;

/** Threads of one page, and what lies behind it. */
interface PlacedThreads {
  /** In the order of the page, one more than it has where there are more. */
  readonly found: readonly ThreadCursor[];
  /** How many there are in all, where finding them has shown it. */
  readonly total: number | undefined;
}

type RootRow = Readonly<Record<'thread_id' | 'start_time', string>>;

/** Condition on a row of `runs r` that is a root of the wanted threads. */
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
 * Which threads a page has, by the time of their last root, then by their ids as bytes: roots walked from the newest on
 * meet each thread first at its last root, so that the walk ends with the page. A page that so many roots of few threads
 * stand before costs a pass over all roots of the time.
 * @param mostRoots that are walked
 */
export async function findThreads(
  db: Queryable,
  tenantId: string,
  search: ThreadSearch,
  page: ThreadPageOptions,
  mostRoots = MOST_ROOTS,
): Promise<PlacedThreads> {
  const walk = new ThreadWalk(db, tenantId, search, page.after);
  const wanted = (page.offset ?? 0) + page.limit + 1;
  const end = await walk.until(wanted, mostRoots);
  if (end === 'given up') return { found: await gatherThreads(db, tenantId, search, page), total: undefined };
  const found = walk.found.toSorted(inOrder).slice(page.offset ?? 0, wanted);
  const isAll = end === 'exhausted' && page.after === undefined;
  return { found, total: isAll ? walk.found.length : undefined };
}

/** How many threads have a root that is wanted. */
export async function countThreads(db: Queryable, tenantId: string, search: ThreadSearch): Promise<number> {
  const parameters = new Parameters();
  const condition = rootCondition(tenantId, search, parameters);
  const { rows } = await db.query<{ total: string }>({
    text: `SELECT count(*) AS total FROM (SELECT DISTINCT r.thread_id FROM runs r WHERE ${condition}) t`,
    values: [...parameters.values],
    types: textTypes,
  });
  return Number(rows[0]?.total ?? 0);
}

/** Roots from the newest on, or from where a page before has ended. */
class ThreadWalk {
  readonly #met = new Set<string>();
  readonly found: ThreadCursor[] = [];

  constructor(
    private readonly db: Queryable,
    private readonly tenantId: string,
    private readonly search: ThreadSearch,
    private readonly after: ThreadCursor | undefined,
  ) {}

  async until(wanted: number, mostRoots: number): Promise<'enough' | 'exhausted' | 'given up'> {
    const parameters = new Parameters();
    const condition = rootCondition(this.tenantId, this.search, parameters);
    const before = this.after
      ? ` AND r.start_time <= ${parameters.add(formatInstant(this.after.lastStartTime))}::timestamptz`
      : '';
    await this.db.query(
      `DECLARE roots NO SCROLL CURSOR FOR SELECT r.thread_id, r.start_time FROM runs r WHERE ${condition}${before}
      ORDER BY r.start_time DESC, r.id DESC, r.trace_id DESC LIMIT ${mostRoots}`,
      [...parameters.values],
    );
    for (let walked = 0; ;) {
      const { rows } = await this.db.query<RootRow>({
        text: `FETCH ${ROOTS_AT_ONCE} FROM roots`,
        types: textTypes,
      });
      walked += rows.length;
      await this.#take(rows.map(parse));
      const last = rows.at(-1);
      const boundary = this.found[wanted - 1];
      // threads whose last roots began at the same time are put in order by their ids
      if (last && boundary && parse(last).lastStartTime < boundary.lastStartTime) return 'enough';
      if (rows.length < ROOTS_AT_ONCE) return walked < mostRoots ? 'exhausted' : 'given up';
    }
  }

  async #take(roots: readonly ThreadCursor[]): Promise<void> {
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
    this.found.push(...some.filter((one) => inOrder(after, one) < 0 && !earlier.has(one.threadId)));
  }

  /** Those of these threads that have a later root. */
  async #ofEarlierPages(
    { lastStartTime }: ThreadCursor,
    some: readonly ThreadCursor[],
  ): Promise<ReadonlySet<string>> {
    const parameters = new Parameters();
    const condition = rootCondition(this.tenantId, this.search, parameters);
    const threads = parameters.add(some.map(({ threadId }) => threadId));
    const { rows } = await this.db.query<{ id: string }>({
      text: `SELECT t.id FROM unnest(${threads}::text[]) AS t(id) CROSS JOIN LATERAL (
        SELECT FROM runs r WHERE ${condition} AND r.thread_id = t.id
          AND r.start_time > ${parameters.add(formatInstant(lastStartTime))}::timestamptz LIMIT 1
      ) l`,
      values: [...parameters.values],
      types: textTypes,
    });
    return new Set(rows.map(({ id }) => id));
  }
}

async function gatherThreads(
  db: Queryable,
  tenantId: string,
  search: ThreadSearch,
  { limit, offset = 0, after }: ThreadPageOptions,
): Promise<readonly ThreadCursor[]> {
  const parameters = new Parameters();
  const condition = rootCondition(tenantId, search, parameters);
  const beyond = after
    ? `WHERE (a.start_time, a.thread_id COLLATE "C") < (${parameters.add(formatInstant(after.lastStartTime))}::timestamptz,
        ${parameters.add(after.threadId)}::text COLLATE "C")`
    : '';
  const { rows } = await db.query<RootRow>({
    text: `SELECT a.thread_id, a.start_time FROM (
        SELECT r.thread_id, max(r.start_time) AS start_time FROM runs r WHERE ${condition} GROUP BY 1
      ) a ${beyond} ORDER BY a.start_time DESC, a.thread_id COLLATE "C" DESC
      LIMIT ${parameters.add(limit + 1)} OFFSET ${parameters.add(offset)}`,
    values: [...parameters.values],
    types: textTypes,
  });
  return rows.map(parse);
}

function parse(row: RootRow): ThreadCursor {
  const lastStartTime: Instant = parseInstant(row.start_time, { zone: 'optional' }) ?? 0n;
  return { threadId: row.thread_id, lastStartTime };
}

/** Negative where the first comes first: the later one, then the one with the greater id. */
function inOrder(one: ThreadCursor, other: ThreadCursor): number {
  if (one.lastStartTime !== other.lastStartTime) return one.lastStartTime > other.lastStartTime ? -1 : 1;
  return Buffer.compare(Buffer.from(other.threadId), Buffer.from(one.threadId));
}
