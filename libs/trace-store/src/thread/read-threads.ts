import { type Connection, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';
import { FENCE } from '../filter/filter-sql.js';
import { limitedReadOfSealed, type SealedLoader } from '../lake/sealed-loader.js';
import { type ReadLimit, withinAll } from '../limited-read.js';
import { Parameters } from '../query/run-search.js';
import type { PayloadField } from '../run/stored-run.js';
import {
  type BegunSearch,
  countThreads,
  findThreads,
  rootCondition,
  sealedRoots,
  type Thread,
  type ThreadCursor,
  type ThreadPage,
  type ThreadPageOptions,
  type ThreadSearch,
} from './find-threads.js';

/**
 * Time limit of a page, all of its statements together: a filter may match few roots of the time range, and
 * counting reads all of them.
 */
const LIMIT: ReadLimit = {
  what: 'Finding these threads',
  advice: 'ask for a shorter time',
  isOneMoment: true,
};
/**
 * Maximum number of newest traces that are summed per thread on a page: a thread that is written to all day
 * would keep its whole list from being answered.
 */
const MOST_SUMMED = 1_000;
/** Characters of the beginning of a payload. */
const PREVIEW = 300;
/** A character has four bytes at most. */
const PREVIEW_BYTES = 4 * PREVIEW;

/** The payloads of which a thread shows the beginning, each with the row of the statement that it is of. */
const PREVIEWS = [
  { column: 'first_inputs', field: 'inputs', of: 'f' },
  { column: 'last_outputs', field: 'outputs', of: 'l' },
  { column: 'last_error', field: 'error', of: 'e' },
] as const satisfies readonly {
  readonly column: string;
  readonly field: PayloadField;
  readonly of: string;
}[];

type Preview = (typeof PREVIEWS)[number]['column'];

type ThreadRow = Readonly<
  Record<
    'thread_id' | 'traces' | 'failed' | 'first_start' | 'last_start' | 'first_trace' | 'last_trace',
    string
  > &
    Record<
      | 'last_end'
      | 'p50'
      | 'p99'
      | 'total_tokens'
      | 'prompt_tokens'
      | 'completion_tokens'
      | 'total_cost'
      | 'prompt_cost'
      | 'completion_cost'
      | Preview,
      string | null
    > &
    // places of sealed payloads, where days may be sealed
    Partial<Record<`${Preview}_${'segment' | 'ordinal'}`, string | null>>
>;

/** A page of the threads of a project. @throws PublicError bad_request when finding them takes too long */
export async function readThreads(
  pool: Pool,
  tenantId: string,
  asked: ThreadSearch,
  page: ThreadPageOptions,
  sealed?: SealedLoader,
): Promise<ThreadPage> {
  return limitedReadOfSealed(
    pool,
    sealed,
    () => sealedRoots(tenantId, asked),
    async (connection, readsSealed) => {
      const db = withinAll(connection, LIMIT);
      const search = { ...asked, readsSealed };
      const { threadId } = search;
      const sum = async (summed: SummedThreads): Promise<readonly Thread[]> => {
        const rows = await sumThreads(db, tenantId, search, summed, sealed !== undefined);
        const shown = sealed ? await withSealedPreviews(connection, tenantId, rows, sealed) : rows;
        return shown.map((row) => parse(row, summed));
      };
      // no walk for one that is named
      if (threadId !== undefined && !page.after && !page.offset) {
        const threads = await sum({ ids: [threadId], most: undefined });
        return { threads, total: threads.length, next: undefined };
      }
      const { found, total } = await findThreads(db, tenantId, search, page);
      const shown = found.slice(0, page.limit);
      const threads = await sum({ ids: shown.map((one) => one.threadId), most: MOST_SUMMED });
      return {
        threads,
        total: page.isCounted ? (total ?? (await countThreads(db, tenantId, search))) : undefined,
        next: found.length > page.limit ? cursorOf(shown.at(-1)) : undefined,
      };
    },
    LIMIT,
  );
}

function cursorOf(thread: ThreadCursor | undefined): ThreadCursor | undefined {
  if (!thread) return undefined;
  const { lastStartTime, rootId, traceId } = thread;
  return { lastStartTime, rootId, traceId };
}

/** Threads by their ids. */
interface SummedThreads {
  readonly ids: readonly string[];
  /** Roots of each that are added up, the newest; undefined: all. */
  readonly most: number | undefined;
}

/** Rows with the beginnings of payloads that are sealed. */
async function withSealedPreviews(
  db: Connection,
  tenantId: string,
  rows: readonly ThreadRow[],
  sealed: SealedLoader,
): Promise<readonly ThreadRow[]> {
  const found = new Map<string, string>();
  for (const { column, field } of PREVIEWS) {
    const places = rows.flatMap((row) => {
      const segment = row[`${column}_segment`];
      return segment ? [{ segment, ordinal: Number(row[`${column}_ordinal`]) }] : [];
    });
    if (places.length === 0) continue;
    for await (const { segment, ordinal, payloads } of sealed.at(db, tenantId, places, [field])) {
      const begin = payloads[field]?.subarray(0, PREVIEW_BYTES).toString();
      if (begin !== undefined)
        found.set(`${column} ${segment} ${ordinal}`, Array.from(begin).slice(0, PREVIEW).join(''));
    }
  }
  return rows.map((row) => {
    const own = PREVIEWS.flatMap(({ column }) => {
      const text = found.get(`${column} ${row[`${column}_segment`]} ${row[`${column}_ordinal`]}`);
      return text === undefined ? [] : [[column, text]];
    });
    return { ...row, ...(Object.fromEntries(own) as Partial<Record<Preview, string>>) };
  });
}

/** Sums of the matching roots of these threads, in the order of the ids. */
async function sumThreads(
  db: Queryable,
  tenantId: string,
  search: BegunSearch,
  threads: SummedThreads,
  mayBeSealed: boolean,
): Promise<readonly ThreadRow[]> {
  if (threads.ids.length === 0) return [];
  const parameters = new Parameters(search.readsSealed);
  const text = sumsQuery(tenantId, search, threads, parameters, mayBeSealed);
  const { rows } = await db.query<ThreadRow>({ text, values: [...parameters.values], types: textTypes });
  const found = new Map(rows.map((row) => [row.thread_id, row]));
  return threads.ids.flatMap((id) => {
    return found.get(id) ?? [];
  });
}

/**
 * Matching roots, by thread, with the payloads of the first and the last of them. Tokens and costs are the
 * totals of their traces.
 */
function sumsQuery(
  tenantId: string,
  search: ThreadSearch,
  { ids, most }: SummedThreads,
  parameters: Parameters,
  mayBeSealed: boolean,
): string {
  const condition = rootCondition(tenantId, search, parameters);
  const threads = `${parameters.add(ids)}::text[]`;
  const tenant = `${parameters.add(tenantId)}::uuid`;
  const project = `${parameters.add(search.projectId)}::uuid`;
  const latency = `date_part('epoch', m.end_time - m.start_time)`;
  const place = mayBeSealed ? ', r.segment, r.ordinal' : '';
  const placeOf = mayBeSealed ? ', m.segment, m.ordinal' : '';
  const last = (where = ''): string =>
    `SELECT DISTINCT ON (m.thread_id) m.thread_id, m.start_time, m.trace_id, m.id${placeOf} FROM m ${where}
    ORDER BY m.thread_id, m.start_time DESC, m.trace_id DESC`;
  const preview = (field: string, of: string): string =>
    `(SELECT left(p.${field}, ${PREVIEW}) FROM run_payloads p WHERE p.tenant_id = ${tenant} AND p.project_id = ${project}
      AND p.start_time = ${of}.start_time AND p.id = ${of}.id AND p.trace_id = ${of}.trace_id)`;
  const shown = ({ column, field, of }: (typeof PREVIEWS)[number]): string =>
    mayBeSealed
      ? `${preview(field, of)} AS ${column}, ${of}.segment AS ${column}_segment, ${of}.ordinal AS ${column}_ordinal`
      : `${preview(field, of)} AS ${column}`;
  return `
WITH m AS MATERIALIZED (
  SELECT r.* FROM unnest(${threads}) AS t(id) CROSS JOIN LATERAL (
    SELECT r.thread_id, r.start_time, r.end_time, r.trace_id, r.id, r.is_failed${place} FROM runs r
    WHERE ${condition} AND r.thread_id = t.id ORDER BY r.start_time DESC LIMIT ${most ?? 'ALL'}
  ) r
), n AS (
  SELECT r.thread_id, count(*) AS traces, min(r.start_time) AS first_start, max(r.start_time) AS last_start
  FROM runs r WHERE ${condition} AND r.thread_id = ANY (${threads}) GROUP BY r.thread_id
), g AS (
  SELECT m.thread_id, count(*) FILTER (WHERE m.is_failed) AS failed, max(m.end_time) AS last_end,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY ${latency}) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY ${latency}) AS p99
  FROM m GROUP BY m.thread_id
), f AS (
  SELECT n.thread_id, r.* FROM n CROSS JOIN LATERAL (
    SELECT r.start_time, r.trace_id, r.id${place} FROM runs r WHERE ${condition} AND r.thread_id = n.thread_id
      AND r.start_time = n.first_start ORDER BY r.trace_id LIMIT 1
  ) r
), l AS (
  ${last()}
), e AS (
  ${last('WHERE m.is_failed')}
), u AS (
  SELECT m.thread_id, sum(t.total_tokens) AS total_tokens, sum(t.prompt_tokens) AS prompt_tokens,
    sum(t.completion_tokens) AS completion_tokens, sum(t.total_cost) AS total_cost, sum(t.prompt_cost) AS prompt_cost,
    sum(t.completion_cost) AS completion_cost
  FROM (SELECT DISTINCT m.thread_id, m.trace_id FROM m) m CROSS JOIN LATERAL (
    SELECT * FROM trace_totals t WHERE t.tenant_id = ${tenant} AND t.trace_id = m.trace_id AND t.project_id = ${project} ${FENCE}
  ) t GROUP BY m.thread_id
)
SELECT n.*, g.failed, g.last_end, g.p50, g.p99, f.trace_id AS first_trace, l.trace_id AS last_trace, u.total_tokens, u.prompt_tokens, u.completion_tokens,
  u.total_cost, u.prompt_cost, u.completion_cost, ${PREVIEWS.map(shown).join(', ')}
FROM n JOIN g USING (thread_id) JOIN f USING (thread_id) JOIN l USING (thread_id) LEFT JOIN e USING (thread_id) LEFT JOIN u USING (thread_id)`;
}

function parse(row: ThreadRow, { most = Infinity }: SummedThreads): Thread {
  const instant = (text: string | null): Instant | undefined =>
    text === null ? undefined : parseInstant(text, { zone: 'optional' });
  const seconds = (text: string | null): number | undefined => (text === null ? undefined : Number(text));
  return {
    threadId: row.thread_id,
    traces: Number(row.traces),
    isPartial: Number(row.traces) > most,
    failed: Number(row.failed),
    firstStartTime: instant(row.first_start) ?? 0n,
    lastStartTime: instant(row.last_start) ?? 0n,
    lastEndTime: instant(row.last_end),
    firstTraceId: row.first_trace,
    lastTraceId: row.last_trace,
    latencyP50: seconds(row.p50),
    latencyP99: seconds(row.p99),
    totalTokens: Number(row.total_tokens ?? 0),
    promptTokens: Number(row.prompt_tokens ?? 0),
    completionTokens: Number(row.completion_tokens ?? 0),
    totalCost: row.total_cost ?? undefined,
    promptCost: row.prompt_cost ?? undefined,
    completionCost: row.completion_cost ?? undefined,
    firstInputs: row.first_inputs ?? undefined,
    lastOutputs: row.last_outputs ?? undefined,
    lastError: row.last_error ?? undefined,
  };
}
