import { parseJson } from '#lib/json';
import { type Connection, CopyBinaryWriter, type CopyPart, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import { hasUsageSql } from './own-usage.js';
import { columnsOf, type RunPlace, type RunRow, type RunStatus, timeBounds } from './stored-run.js';
import type { UsageDetails } from '../usage/usage-details.js';

/** Order of `writeRow`. */
const COLUMNS = [
  'tenant_id',
  'project_id',
  'start_time',
  'id',
  'trace_id',
  'parent_run_id',
  'parent_run_ids',
  'reference_example_id',
  'end_time',
  'first_token_time',
  'total_tokens',
  'prompt_tokens',
  'completion_tokens',
  'is_root',
  'name',
  'run_type',
  'status',
  'dotted_order',
  'trace_tier',
  'tags',
  'thread_id',
  'total_cost',
  'prompt_cost',
  'completion_cost',
  'price_id',
  'usage_details',
  'model',
  'model_member',
  'provider',
] as const;

type Lists = 'parent_run_ids' | 'tags';
/** Values by `textTypes` in the order of their names: each as its text, lists as lists of texts. */
type TextsOf<Names extends readonly string[]> = {
  -readonly [At in keyof Names]: Names[At] extends Lists ? string[] : string | null;
};
type TextRow = TextsOf<typeof COLUMNS>;

function detailsText({ usageDetails }: RunRow): string | undefined {
  return usageDetails && JSON.stringify(usageDetails);
}

function writeRow(writer: CopyBinaryWriter, row: RunRow): void {
  writer
    .row(COLUMNS.length)
    .uuid(row.tenantId)
    .uuid(row.projectId)
    .time(row.startTime)
    .uuid(row.id)
    .uuid(row.traceId)
    .uuid(row.parentRunId)
    .uuids(row.parentRunIds)
    .uuid(row.referenceExampleId)
    .time(row.endTime)
    .time(row.firstTokenTime)
    .int8(row.totalTokens)
    .int8(row.promptTokens)
    .int8(row.completionTokens)
    .bool(row.isRoot)
    .text(row.name)
    .text(row.runType)
    .text(row.status)
    .text(row.dottedOrder)
    .text(row.traceTier)
    .texts(row.tags)
    .text(row.threadId)
    .numeric(row.totalCost)
    .numeric(row.promptCost)
    .numeric(row.completionCost)
    .uuid(row.priceId)
    .text(detailsText(row))
    .text(row.model)
    .text(row.modelMember)
    .text(row.provider);
}

/** Rows to be added, whose keys were won in `run_keys` before. */
export function newRunRows(runs: readonly RunRow[]): CopyPart {
  const rows = new CopyBinaryWriter();
  for (const run of runs) writeRow(rows, run);
  return { table: 'runs', columns: COLUMNS, rows };
}

/** Columns that an update may change. */
const CHANGING = [
  'end_time',
  'first_token_time',
  'name',
  'run_type',
  'status',
  'tags',
  'thread_id',
  'reference_example_id',
  'trace_tier',
  'total_tokens',
  'prompt_tokens',
  'completion_tokens',
  'total_cost',
  'prompt_cost',
  'completion_cost',
  'price_id',
  'usage_details',
  'model',
  'model_member',
  'provider',
] as const;

function changing(table: 'r' | 'v'): string {
  return CHANGING.map((name) => `${table}.${name}`).join(', ');
}

const UPDATE = `
UPDATE runs r SET
  ${CHANGING.map((name) => `${name} = v.${name}`).join(', ')}, changed_in = pg_current_xact_id()
FROM jsonb_to_recordset($4::jsonb) AS v(
  project_id uuid, start_time timestamptz, id uuid, trace_id uuid, has_new_payloads boolean,
  end_time timestamptz, first_token_time timestamptz, name text, run_type text, status text, tags text[],
  thread_id text, reference_example_id uuid, trace_tier text, total_tokens bigint, prompt_tokens bigint,
  completion_tokens bigint, total_cost numeric, prompt_cost numeric, completion_cost numeric,
  price_id uuid, usage_details text, model text, model_member text, provider text)
WHERE r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3
  AND r.project_id = v.project_id AND r.start_time = v.start_time AND r.id = v.id AND r.trace_id = v.trace_id
  AND (v.has_new_payloads OR (${changing('r')}) IS DISTINCT FROM (${changing('v')}))`;

function time(value: Instant | undefined): string | undefined {
  return value === undefined ? undefined : formatInstant(value);
}

/**
 * Writes the changing columns of existing runs; an unchanged row is not written. Their keys are locked by the
 * caller.
 * @param hasNewPayloads whether a run's payloads were changed: its row has the mark of that, too
 */
export async function updateRuns(
  db: Queryable,
  tenantId: string,
  rows: readonly RunRow[],
  hasNewPayloads: (row: RunRow) => boolean,
): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => ({
    project_id: row.projectId,
    start_time: time(row.startTime),
    id: row.id,
    trace_id: row.traceId,
    has_new_payloads: hasNewPayloads(row),
    end_time: time(row.endTime),
    first_token_time: time(row.firstTokenTime),
    name: row.name,
    run_type: row.runType,
    status: row.status,
    tags: row.tags,
    thread_id: row.threadId,
    reference_example_id: row.referenceExampleId,
    trace_tier: row.traceTier,
    total_tokens: row.totalTokens,
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    total_cost: row.totalCost,
    prompt_cost: row.promptCost,
    completion_cost: row.completionCost,
    price_id: row.priceId,
    usage_details: detailsText(row),
    model: row.model,
    model_member: row.modelMember,
    provider: row.provider,
  }));
  await db.query(UPDATE, [tenantId, ...timeBounds(rows), JSON.stringify(values)]);
}

function micros(text: string | null): Instant | undefined {
  return text === null ? undefined : parseInstant(text, { zone: 'optional' });
}

function number(text: string | null): number | undefined {
  return text === null ? undefined : Number(text);
}

/**
 * Parses columns by their order: an object with these names for each row costs more than all the rest of
 * reading it.
 */
function parseRow(row: readonly [...TextRow, ...unknown[]]): RunRow {
  // prettier-ignore
  const [
    tenantId, projectId, startTime, id, traceId, parentRunId, parentRunIds, referenceExampleId, endTime, firstTokenTime,
    totalTokens, promptTokens, completionTokens, isRoot, name, runType, status, dottedOrder, traceTier, tags, threadId,
    totalCost, promptCost, completionCost, priceId, usageDetails, model, modelMember, provider,
  ] = row;
  return {
    tenantId: tenantId ?? '',
    projectId: projectId ?? '',
    startTime: micros(startTime) ?? 0n,
    id: id ?? '',
    traceId: traceId ?? '',
    parentRunId: parentRunId ?? undefined,
    parentRunIds,
    referenceExampleId: referenceExampleId ?? undefined,
    endTime: micros(endTime),
    firstTokenTime: micros(firstTokenTime),
    totalTokens: number(totalTokens),
    promptTokens: number(promptTokens),
    completionTokens: number(completionTokens),
    isRoot: isRoot === 't',
    name: name ?? '',
    runType: runType ?? '',
    status: (status ?? 'pending') as RunStatus,
    dottedOrder: dottedOrder ?? '',
    traceTier: traceTier ?? '',
    tags,
    threadId: threadId ?? undefined,
    totalCost: totalCost ?? undefined,
    promptCost: promptCost ?? undefined,
    completionCost: completionCost ?? undefined,
    priceId: priceId ?? undefined,
    usageDetails: usageDetails === null ? undefined : (parseJson(usageDetails) as UsageDetails),
    model: model ?? undefined,
    modelMember: modelMember ?? undefined,
    provider: provider ?? undefined,
  };
}

/** Runs by their places; `valuesOf` has the values. */
const AT_PLACES = `
FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[]) AS k(project_id, start_time, id, trace_id)
JOIN runs r USING (project_id, start_time, id, trace_id)
WHERE r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3`;

function valuesOf(tenantId: string, places: readonly RunPlace[]): readonly unknown[] {
  return [tenantId, ...timeBounds(places), ...columnsOf(places)];
}

/** Columns that `readRuns` and `readMarkedRuns` need of the table `runs`, called `r`. */
export const RUN_COLUMNS = COLUMNS.map((name) => `r.${name}`).join(', ');

const SELECT = `SELECT ${RUN_COLUMNS} ${AT_PLACES}`;

/** Rows of a query that answers `RUN_COLUMNS`, in its order. */
async function readRuns(db: Queryable, text: string, values: readonly unknown[]): Promise<readonly RunRow[]> {
  const result = await db.query<TextRow>({ text, values: [...values], types: textTypes, rowMode: 'array' });
  return result.rows.map(parseRow);
}

/** A row with what was asked of it beside its columns. */
export interface MarkedRun {
  readonly row: RunRow;
  readonly isMarked: boolean;
}

/** Rows of a query that answers a boolean after them. */
export async function readMarkedRuns(
  db: Queryable,
  text: string,
  values: readonly unknown[],
): Promise<readonly MarkedRun[]> {
  const { rows } = await db.query<[...TextRow, string]>({
    text,
    values: [...values],
    types: textTypes,
    rowMode: 'array',
  });
  return rows.map((row) => ({ row: parseRow(row), isMarked: row[COLUMNS.length] === 't' }));
}

/** The typed columns of these runs of one tenant, in no order. */
export async function selectRuns(
  db: Queryable,
  tenantId: string,
  places: readonly RunPlace[],
): Promise<readonly RunRow[]> {
  if (places.length === 0) return [];
  return readRuns(db, SELECT, valuesOf(tenantId, places));
}

/** Writes of runs whether they are roots. Their keys are locked by the caller. */
export async function markRoots(
  client: Connection,
  tenantId: string,
  rows: readonly RunRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await client.query(
    `UPDATE runs r SET is_root = k.is_root, changed_in = pg_current_xact_id()
    FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[], $8::boolean[])
      AS k(project_id, start_time, id, trace_id, is_root)
    WHERE r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3
      AND r.project_id = k.project_id AND r.start_time = k.start_time AND r.id = k.id AND r.trace_id = k.trace_id`,
    [...valuesOf(tenantId, rows), rows.map(({ isRoot }) => isRoot)],
  );
}

/** Facts that a run passes to its children. */
export interface ParentRow {
  readonly id: string;
  readonly traceId: string;
  /** Undefined when it has more ancestors than the maximum. */
  readonly dottedOrder: string | undefined;
  /** True when its way to the root is known. */
  readonly isPlaced: boolean;
}

/**
 * Places of these runs in their traces, in no order.
 * @param maxAncestors of a run whose place is answered: each has the ids of all of them in it
 */
export async function selectParents(
  db: Queryable,
  tenantId: string,
  places: readonly RunPlace[],
  maxAncestors: number,
): Promise<readonly ParentRow[]> {
  if (places.length === 0) return [];
  const { rows } = await db.query<{
    id: string;
    trace_id: string;
    dotted_order: string | null;
    is_placed: boolean;
  }>(
    `SELECT r.id, r.trace_id, CASE WHEN cardinality(r.parent_run_ids) <= $8 THEN r.dotted_order END AS dotted_order,
      NOT EXISTS (SELECT FROM unplaced_runs u
        WHERE u.tenant_id = r.tenant_id AND u.trace_id = r.trace_id AND u.run_id = r.id) AS is_placed ${AT_PLACES}`,
    [...valuesOf(tenantId, places), maxAncestors],
  );
  return rows.map((row) => ({
    id: row.id,
    traceId: row.trace_id,
    dottedOrder: row.dotted_order ?? undefined,
    isPlaced: row.is_placed,
  }));
}

/** New place of a stored run in its trace. */
export interface NewStanding {
  readonly place: RunPlace;
  readonly dottedOrder: string;
  /** Root first. */
  readonly parentRunIds: readonly string[];
}

/**
 * Puts stored runs below ancestors that came after them. Their keys are locked by the caller.
 * @returns those of them that are calls with tokens or a cost
 */
export async function placeRuns(
  client: Connection,
  tenantId: string,
  standings: readonly NewStanding[],
): Promise<readonly NewStanding[]> {
  if (standings.length === 0) return [];
  const places = standings.map(({ place }) => place);
  const { rows } = await client.query<{ at: string; is_call: boolean }>(
    `UPDATE runs r SET dotted_order = k.dotted_order, parent_run_ids = k.parent_run_ids::uuid[],
      changed_in = pg_current_xact_id()
    FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[], $8::text[], $9::text[])
      WITH ORDINALITY AS k(project_id, start_time, id, trace_id, dotted_order, parent_run_ids, at)
    WHERE r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3
      AND r.project_id = k.project_id AND r.start_time = k.start_time AND r.id = k.id AND r.trace_id = k.trace_id
    RETURNING k.at, ${hasUsageSql('r')} AS is_call`,
    [
      ...valuesOf(tenantId, places),
      standings.map(({ dottedOrder }) => dottedOrder),
      // lists of one length only can be sent as a list of lists
      standings.map(({ parentRunIds }) => `{${parentRunIds.join()}}`),
    ],
  );
  return rows.flatMap((row) => (row.is_call ? (standings[Number(row.at) - 1] ?? []) : []));
}
