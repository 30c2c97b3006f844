import { parseJson } from '#lib/json';
import { type Connection, CopyBinaryWriter, type CopyPart, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, parseInstant } from '#lib/time';
import type { UsageDetails } from '../usage/usage-details.js';
import { hasUsageSql } from './own-usage.js';
import { MARK_BITS } from './search-marks.js';
import {
  COLUMN_LIST,
  columnsOf,
  EMPTY_RUN,
  type ListedColumn,
  type RunColumnType,
  type RunPlace,
  type RunRow,
  type RunStatus,
  timeBounds,
  type TraceTier,
  type ValueOf,
} from './stored-run.js';

/** A run that began so long ago and has not ended is not waited for. */
export const LONGEST_RUN_HOURS = 24n;
/** Runs below a root that ended so long ago have lost their ends: senders flush within minutes. */
export const LATEST_END_HOURS = 1n;

/**
 * SQL: the status that is shown of the run in row `r`. A run whose process died is interrupted, which nothing writes: an end
 * that comes later counts.
 */
export function shownStatusSql(r: string): string {
  const ended = `EXISTS (SELECT FROM run_keys k JOIN runs o ON o.tenant_id = k.tenant_id AND o.project_id = k.project_id AND o.start_time = k.start_time AND o.id = k.id AND o.trace_id = k.trace_id WHERE k.tenant_id = ${r}.tenant_id AND k.project_id = ${r}.project_id AND k.trace_id = ${r}.trace_id AND o.is_root AND o.end_time < now() - interval '${LATEST_END_HOURS} hours' OFFSET 0)`;
  return `CASE WHEN ${r}.status = 'pending' AND ${r}.end_time IS NULL AND (${r}.start_time < now() - interval '${LONGEST_RUN_HOURS} hours' OR NOT ${r}.is_root AND ${ended}) THEN 'interrupted' ELSE ${r}.status END`;
}

/** A type of a column: its SQL, and its values in COPY and in texts of Postgres. */
interface ColumnForm<Value> {
  readonly sql: string;
  readonly write: (writer: CopyBinaryWriter, value: Value | undefined) => unknown;
  /** Absent: the column is compared by statements and never read. */
  readonly parse?: (text: string) => Value;
  /** The value in JSON that an update sends; absent: as it is. */
  readonly json?: (value: Value) => unknown;
}

const asText = (text: string): string => text;
/** Lists arrive as lists of texts, see `textTypes`. */
const asList = (texts: unknown): readonly string[] => texts as readonly string[];

const FORMS: { readonly [Type in RunColumnType]: ColumnForm<ValueOf<Type>> } = {
  uuid: { sql: 'uuid', write: (writer, value) => writer.uuid(value), parse: asText },
  uuids: { sql: 'uuid[]', write: (writer, value) => writer.uuids(value ?? []), parse: asList },
  text: { sql: 'text', write: (writer, value) => writer.text(value), parse: asText },
  texts: { sql: 'text[]', write: (writer, value) => writer.texts(value ?? []), parse: asList },
  time: {
    sql: 'timestamptz',
    write: (writer, value) => writer.time(value),
    parse: (text) => parseInstant(text, { zone: 'optional' }) ?? 0n,
    json: formatInstant,
  },
  bool: {
    sql: 'boolean',
    write: (writer, value) => writer.bool(value ?? false),
    parse: (text) => text === 't',
  },
  int8: { sql: 'bigint', write: (writer, value) => writer.int8(value), parse: Number },
  numeric: { sql: 'numeric', write: (writer, value) => writer.numeric(value), parse: asText },
  status: { sql: 'text', write: (writer, value) => writer.text(value), parse: (text) => text as RunStatus },
  tier: {
    sql: 'text',
    write: (writer, value) => writer.text(value),
    parse: (text) => text as TraceTier | '',
  },
  details: {
    sql: 'text',
    write: (writer, value) => writer.text(value && JSON.stringify(value)),
    parse: (text) => parseJson(text) as UsageDetails,
    json: (value) => JSON.stringify(value),
  },
  marks: {
    sql: `bit(${MARK_BITS})`,
    write: (writer, value) => writer.bits(value),
    json: (value) => `x${value.toString('hex')}`,
  },
};

const formOf = (column: ListedColumn): ColumnForm<unknown> => FORMS[column.type] as ColumnForm<unknown>;

/** Order of the columns in COPY. */
const COLUMNS = COLUMN_LIST.map(({ name }) => name);

/** Values by `textTypes`: each as its text, lists as lists of texts. */
type TextRow = (string | null)[];

const WRITERS = COLUMN_LIST.map((column) => ({ property: column.property, write: formOf(column).write }));

function writeRow(writer: CopyBinaryWriter, row: RunRow): void {
  writer.row(WRITERS.length);
  for (const { property, write } of WRITERS) write(writer, row[property]);
}

/** Rows to be added, whose keys were won in `run_keys` before. */
export function newRunRows(runs: readonly RunRow[]): CopyPart {
  const rows = new CopyBinaryWriter();
  for (const run of runs) writeRow(rows, run);
  return { table: 'runs', columns: COLUMNS, rows };
}

/** Columns that an update may change. */
const CHANGING = COLUMN_LIST.filter(({ changes }) => changes !== undefined).map((column) => ({
  name: column.name,
  property: column.property,
  sql: formOf(column).sql,
  json: formOf(column).json,
  isRead: formOf(column).parse !== undefined,
}));

type ChangingColumn = (typeof CHANGING)[number];

/** Bits are added to those that are stored, which the caller does not know; every other column is replaced. */
function changeSql({ name, isRead }: ChangingColumn): string {
  return `${name} = ${isRead ? `v.${name}` : `coalesce(r.${name} | v.${name}, v.${name}, r.${name})`}, `;
}

function updateSql(columns: readonly ChangingColumn[]): string {
  const read = columns.filter(({ isRead }) => isRead);
  const of = (row: 'r' | 'v'): string => read.map(({ name }) => `, ${row}.${name}`).join('');
  return `
UPDATE runs r SET
  ${columns.map(changeSql).join('')}changed_in = pg_current_xact_id()
FROM jsonb_to_recordset($4::jsonb) AS v(
  project_id uuid, start_time timestamptz, id uuid, trace_id uuid, has_new_payloads boolean
  ${columns.map(({ name, sql }) => `, ${name} ${sql}`).join('')})
WHERE r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3
  AND r.project_id = v.project_id AND r.start_time = v.start_time AND r.id = v.id AND r.trace_id = v.trace_id
  AND (v.has_new_payloads OR ROW(1${of('r')}) IS DISTINCT FROM ROW(1${of('v')}))`;
}

/** The values of a changing row, by the names of the columns. */
function changedValues(row: RunRow, columns: readonly ChangingColumn[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { name, property, json } of columns) {
    const value = row[property];
    values[name] = value === undefined || !json ? value : json(value);
  }
  return values;
}

/**
 * Writes those of the changing columns that differ in any of these existing runs; an unchanged row is not written. Their
 * keys are locked by the caller.
 * @param before the rows as they are stored, in the same order
 * @param hasNewPayloads whether a run's payloads were changed: its row has the mark of that, too
 */
export async function updateRuns(
  db: Queryable,
  tenantId: string,
  before: readonly RunRow[],
  rows: readonly RunRow[],
  hasNewPayloads: (row: RunRow) => boolean,
): Promise<void> {
  if (rows.length === 0) return;
  const columns = CHANGING.filter(({ property, isRead }) =>
    rows.some((row, at) => row[property] !== before[at]?.[property] && (isRead || hasNewPayloads(row))),
  );
  if (columns.length === 0 && !rows.some(hasNewPayloads)) return;
  const values = rows.map((row) => ({
    project_id: row.projectId,
    start_time: formatInstant(row.startTime),
    id: row.id,
    trace_id: row.traceId,
    has_new_payloads: hasNewPayloads(row),
    ...changedValues(row, columns),
  }));
  await db.query(updateSql(columns), [tenantId, ...timeBounds(rows), JSON.stringify(values)]);
}

/** Columns that are read, in their order. */
const PARSERS = COLUMN_LIST.flatMap((column) => {
  const { parse } = formOf(column);
  return parse ? [{ name: column.name, property: column.property, parse }] : [];
});

/**
 * Parses columns by their order: an object with their names for each row costs more than all the rest of reading it.
 */
function parseRow(texts: readonly (string | null)[]): RunRow {
  const row: Record<string, unknown> = { ...EMPTY_RUN };
  for (let at = 0; at < PARSERS.length; at++) {
    const text = texts[at];
    const parser = PARSERS[at];
    if (text !== null && text !== undefined && parser) row[parser.property] = parser.parse(text);
  }
  return row as RunRow;
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
export const SELECTED_COLUMNS = PARSERS.map(({ name }) => `r.${name}`).join(', ');

const SELECT = `SELECT ${SELECTED_COLUMNS} ${AT_PLACES}`;

/** Rows of a query that answers `SELECTED_COLUMNS`, in its order. */
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
  const { rows } = await db.query<TextRow>({
    text,
    values: [...values],
    types: textTypes,
    rowMode: 'array',
  });
  return rows.map((row) => ({ row: parseRow(row), isMarked: row[PARSERS.length] === 't' }));
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

/** The same, marked when their payloads are sealed. */
export async function selectSealableRuns(
  db: Queryable,
  tenantId: string,
  places: readonly RunPlace[],
): Promise<readonly MarkedRun[]> {
  if (places.length === 0) return [];
  return readMarkedRuns(
    db,
    `SELECT ${SELECTED_COLUMNS}, r.segment IS NOT NULL ${AT_PLACES}`,
    valuesOf(tenantId, places),
  );
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
interface NewStanding {
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
