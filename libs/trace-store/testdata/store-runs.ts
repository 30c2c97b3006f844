import { randomUUID } from 'node:crypto';
import type { Queryable } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import type { FilterableRun } from '../../../test/support/evaluate-filter.js';

const time = (instant: Instant | undefined) => (instant === undefined ? null : formatInstant(instant));

/** A run, and the project that it is stored in. */
export interface StoredRow {
  readonly projectId: string;
  readonly run: FilterableRun;
}

const RUNS = `
INSERT INTO runs (tenant_id, project_id, start_time, id, trace_id, parent_run_id, parent_run_ids, end_time,
  first_token_time, total_tokens, prompt_tokens, completion_tokens, is_root, name, run_type, status, dotted_order,
  trace_tier, tags, thread_id, total_cost, prompt_cost, completion_cost)
SELECT $1, v.project_id, v.start_time, v.id, v.trace_id, v.parent_run_id, '{}', v.end_time, v.first_token_time,
  v.total_tokens, v.prompt_tokens, v.completion_tokens, v.is_root, v.name, v.run_type, v.status, '', '', v.tags,
  v.thread_id, v.total_cost, v.prompt_cost, v.completion_cost
FROM jsonb_to_recordset($2::jsonb) AS v(project_id uuid, start_time timestamptz, id uuid, trace_id uuid,
  parent_run_id uuid, end_time timestamptz, first_token_time timestamptz, total_tokens bigint, prompt_tokens bigint,
  completion_tokens bigint, is_root boolean, name text, run_type text, status text, tags text[], thread_id text,
  total_cost numeric, prompt_cost numeric, completion_cost numeric)`;

const PAYLOADS = `
INSERT INTO run_payloads (tenant_id, project_id, start_time, id, trace_id, error, extra, inputs, outputs)
SELECT $1, v.* FROM jsonb_to_recordset($2::jsonb) AS v(project_id uuid, start_time timestamptz, id uuid, trace_id uuid,
  error text, extra text, inputs text, outputs text)`;

const KEYS = `
INSERT INTO run_keys (tenant_id, id, trace_id, start_time, project_id)
SELECT $1, v.id, v.trace_id, v.start_time, v.project_id
FROM jsonb_to_recordset($2::jsonb) AS v(project_id uuid, start_time timestamptz, id uuid, trace_id uuid)
ON CONFLICT DO NOTHING`;

const PAIRS = `
INSERT INTO run_pairs (tenant_id, project_id, start_time, run_id, trace_id, kind, key, value)
SELECT $1, v.* FROM jsonb_to_recordset($2::jsonb) AS v(project_id uuid, start_time timestamptz, id uuid, trace_id uuid,
  kind smallint, key text, value text)`;

const FEEDBACK = `
INSERT INTO feedback (tenant_id, project_id, start_time, run_id, trace_id, id, key, score, value, source)
SELECT $1, v.* FROM jsonb_to_recordset($2::jsonb) AS v(project_id uuid, start_time timestamptz, id uuid, trace_id uuid,
  feedback_id uuid, key text, score double precision, value text, source text)`;

/** A run has the tokens and costs that are shown of it: those of a root are its trace's. */
const TOTALS = `
INSERT INTO trace_totals (tenant_id, project_id, trace_id, total_tokens, prompt_tokens, completion_tokens, total_cost,
  prompt_cost, completion_cost, total_tokens_calls, prompt_tokens_calls, completion_tokens_calls, total_cost_calls,
  prompt_cost_calls, completion_cost_calls)
SELECT $1, v.*, 1, 1, 1, 1, 1, 1 FROM jsonb_to_recordset($2::jsonb) AS v(project_id uuid, trace_id uuid,
  total_tokens numeric, prompt_tokens numeric, completion_tokens numeric, total_cost numeric, prompt_cost numeric,
  completion_cost numeric)`;

function placeOf({ projectId, run }: StoredRow) {
  return {
    project_id: projectId,
    start_time: formatInstant(run.startTime),
    id: run.id,
    trace_id: run.traceId,
  };
}

function columnsOf({ run }: StoredRow) {
  return {
    parent_run_id: run.parentRunId ?? null,
    end_time: time(run.endTime),
    first_token_time: time(run.firstTokenTime),
    total_tokens: run.totalTokens ?? null,
    prompt_tokens: run.promptTokens ?? null,
    completion_tokens: run.completionTokens ?? null,
    is_root: run.isRoot,
    name: run.name,
    run_type: run.runType,
    status: run.status,
    tags: run.tags,
    thread_id: run.threadId ?? null,
    total_cost: run.totalCost ?? null,
    prompt_cost: run.promptCost ?? null,
    completion_cost: run.completionCost ?? null,
  };
}

function payloadsOf({ run }: StoredRow) {
  const { error, inputs, outputs, metadata } = run;
  const extra = metadata === undefined ? null : `{"runtime":{"library":"unsearched"},"metadata":${metadata}}`;
  return { error: error ?? null, extra, inputs: inputs ?? null, outputs: outputs ?? null };
}

/** One partition of each table for the days of tests; ingestion makes many, which take longer to plan for. */
export async function prepareTables(db: Queryable): Promise<void> {
  for (const table of ['runs', 'run_payloads', 'run_pairs']) {
    await db.query(`DROP TABLE ${table}_before_1970, ${table}_after_2099`);
    await db.query(
      `CREATE TABLE ${table}_tested PARTITION OF ${table} FOR VALUES FROM ('1970-01-01 00:00:00+00') TO ('2100-01-01 00:00:00+00')`,
    );
  }
}

/** Writes runs as they are into the tables that filters look at. */
export async function storeRuns(db: Queryable, tenantId: string, rows: readonly StoredRow[]): Promise<void> {
  const write = (sql: string, values: readonly object[]) => db.query(sql, [tenantId, JSON.stringify(values)]);
  await write(
    RUNS,
    rows.map((row) => ({ ...placeOf(row), ...columnsOf(row) })),
  );
  await write(
    PAYLOADS,
    rows.map((row) => ({ ...placeOf(row), ...payloadsOf(row) })),
  );
  await write(KEYS, rows.map(placeOf));
  const roots = rows.filter(({ run }) => run.isRoot);
  await write(
    TOTALS,
    roots.map((row) => ({ ...placeOf(row), ...columnsOf(row) })),
  );
  const pairs = rows.flatMap((row) => {
    return row.run.metadataPairs.map((pair) => ({ ...placeOf(row), kind: 1, ...pair }));
  });
  await write(PAIRS, pairs);
  const feedback = rows.flatMap((row) =>
    row.run.feedback.map((each) => ({ ...placeOf(row), feedback_id: randomUUID(), ...each })),
  );
  await write(FEEDBACK, feedback);
}
