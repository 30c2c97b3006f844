import { type Pool, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import { FENCE } from '../filter/filter-tables.js';
import { filterSql } from '../filter/filter-sql.js';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import { Parameters, runConditions } from '../query/run-conditions.js';
import type { Thread, ThreadPage, ThreadPageOptions, ThreadSearch } from './thread.js';

/** Of a page: the traces of the time are gathered by thread first. */
const LIMIT: ReadLimit = { what: 'Finding these threads', advice: 'ask for a shorter time' };
/** Characters of the beginning of a payload. */
const PREVIEW = 300;

type ThreadRow = Readonly<
  Record<
    'thread_id' | 'traces' | 'failed' | 'first_start' | 'last_start' | 'first_trace' | 'last_trace' | 'total',
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
      | 'first_inputs'
      | 'last_outputs'
      | 'last_error',
      string | null
    >
>;

/** A page of the threads of a project. @throws PublicError bad_request when finding them takes too long */
export async function readThreads(
  pool: Pool,
  tenantId: string,
  search: ThreadSearch,
  page: ThreadPageOptions,
): Promise<ThreadPage> {
  const parameters = new Parameters();
  const text = threadsQuery(tenantId, search, page, parameters);
  const { rows } = await limitedRead(
    pool,
    (db) => db.query<ThreadRow>({ text, values: [...parameters.values], types: textTypes }),
    LIMIT,
  );
  const threads = rows.slice(0, page.limit).map(parse);
  const last = rows.length > page.limit ? threads.at(-1) : undefined;
  return {
    threads,
    total: Number(rows[0]?.total ?? 0),
    next: last && { lastStartTime: last.lastStartTime, threadId: last.threadId },
  };
}

/** Roots that are wanted, by thread; then what a page of threads needs beside it. */
function threadsQuery(
  tenantId: string,
  { projectId, threadId, from, to, filters }: ThreadSearch,
  { limit, offset = 0, after }: ThreadPageOptions,
  parameters: Parameters,
): string {
  const tenant = `${parameters.add(tenantId)}::uuid`;
  const project = `${parameters.add(projectId)}::uuid`;
  const conditions = [
    `r.tenant_id = ${tenant} AND r.project_id = ${project} AND r.thread_id IS NOT NULL`,
    ...runConditions({ isRoot: true, threadId, from, to }, parameters),
    filterSql(filters ?? {}, parameters),
  ].join(' AND ');
  const beyond = after
    ? `WHERE (a.last_start, a.thread_id) < (${parameters.add(formatInstant(after.lastStartTime))}::timestamptz, ${parameters.add(after.threadId)})`
    : '';
  const latency = 'extract(epoch FROM m.end_time - m.start_time)';
  // the id of a trace need not be that of its root
  const preview = (field: string, trace: string, root: string): string =>
    `(SELECT p.preview FROM run_keys k CROSS JOIN LATERAL (
        SELECT left(p.${field}, ${PREVIEW}) AS preview FROM run_payloads p WHERE p.tenant_id = ${tenant}
          AND p.project_id = ${project} AND p.start_time = k.start_time AND p.id = k.id AND p.trace_id = k.trace_id LIMIT 1
      ) p WHERE k.tenant_id = ${tenant} AND k.project_id = ${project} AND k.id = ${root} AND k.trace_id = ${trace} LIMIT 1)`;
  return `
WITH m AS MATERIALIZED (
  SELECT r.thread_id, r.start_time, r.end_time, r.trace_id, r.id, r.is_failed FROM runs r WHERE ${conditions}
), a AS (
  SELECT m.thread_id, count(*) AS traces, count(*) FILTER (WHERE m.is_failed) AS failed,
    min(m.start_time) AS first_start, max(m.start_time) AS last_start, max(m.end_time) AS last_end
  FROM m GROUP BY m.thread_id
), g AS MATERIALIZED (
  SELECT a.*, (SELECT count(*) FROM a) AS total FROM a ${beyond}
  ORDER BY a.last_start DESC, a.thread_id DESC LIMIT ${parameters.add(limit + 1)} OFFSET ${parameters.add(offset)}
), d AS (
  SELECT m.thread_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY ${latency}) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY ${latency}) AS p99,
    (array_agg(m.trace_id ORDER BY m.start_time, m.trace_id))[1] AS first_trace,
    (array_agg(m.trace_id ORDER BY m.start_time DESC, m.trace_id DESC))[1] AS last_trace,
    (array_agg(m.trace_id ORDER BY m.start_time DESC, m.trace_id DESC) FILTER (WHERE m.is_failed))[1] AS failed_trace,
    (array_agg(m.id ORDER BY m.start_time, m.trace_id))[1] AS first_root,
    (array_agg(m.id ORDER BY m.start_time DESC, m.trace_id DESC))[1] AS last_root,
    (array_agg(m.id ORDER BY m.start_time DESC, m.trace_id DESC) FILTER (WHERE m.is_failed))[1] AS failed_root
  FROM m WHERE m.thread_id IN (SELECT g.thread_id FROM g) GROUP BY m.thread_id
), u AS (
  SELECT m.thread_id, sum(t.total_tokens) AS total_tokens, sum(t.prompt_tokens) AS prompt_tokens,
    sum(t.completion_tokens) AS completion_tokens, sum(t.total_cost) AS total_cost, sum(t.prompt_cost) AS prompt_cost,
    sum(t.completion_cost) AS completion_cost
  FROM m CROSS JOIN LATERAL (
    SELECT k.start_time, k.id FROM run_keys k
    WHERE k.tenant_id = ${tenant} AND k.trace_id = m.trace_id AND k.project_id = ${project} ${FENCE}
  ) k CROSS JOIN LATERAL (
    SELECT * FROM runs t WHERE t.tenant_id = ${tenant} AND t.project_id = ${project} AND t.start_time = k.start_time
      AND t.id = k.id AND t.trace_id = m.trace_id LIMIT 1
  ) t WHERE t.run_type = 'llm' AND m.thread_id IN (SELECT g.thread_id FROM g) GROUP BY m.thread_id
)
SELECT g.*, d.p50, d.p99, d.first_trace, d.last_trace, u.total_tokens, u.prompt_tokens, u.completion_tokens, u.total_cost,
  u.prompt_cost, u.completion_cost, ${preview('inputs', 'd.first_trace', 'd.first_root')} AS first_inputs,
  ${preview('outputs', 'd.last_trace', 'd.last_root')} AS last_outputs, ${preview('error', 'd.failed_trace', 'd.failed_root')} AS last_error
FROM g JOIN d USING (thread_id) LEFT JOIN u USING (thread_id) ORDER BY g.last_start DESC, g.thread_id DESC`;
}

function parse(row: ThreadRow): Thread {
  const instant = (text: string | null): Instant | undefined =>
    text === null ? undefined : parseInstant(text, { zone: 'optional' });
  const seconds = (text: string | null): number | undefined => (text === null ? undefined : Number(text));
  return {
    threadId: row.thread_id,
    traces: Number(row.traces),
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
