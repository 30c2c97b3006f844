import {
  type Comparison,
  fieldRow,
  type Filter,
  jsonSearch,
  type Operand,
  type PairCondition,
  type PairFamily,
  type PairField,
  type RunField,
  type SearchField,
} from '#lib/filter-language';
import { formatInstant } from '#lib/time';
import { shownStatusSql } from '../run/shown-status.js';
import { isTotalColumn, shownTotalSql } from '../run/trace-totals.js';
import {
  beginning,
  FENCE,
  FILTER_TABLES,
  IS_READABLE,
  METADATA,
  metadataSql,
  payloadSql,
  smallPayload,
} from './payload-sql.js';
import type { SqlType, SqlValues } from './sql-values.js';

/** Location of the value of a field: SQL over its row, and its type there. */
interface FieldSql {
  readonly sql: string;
  readonly type: SqlType | 'boolean';
}

const ORDER = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** A value as the text that Postgres casts to its type. */
function textOf(field: RunField | PairField, operand: Operand): string {
  if (typeof operand !== 'bigint') return String(operand);
  return fieldRow(field).type === 'duration' ? `${operand} microseconds` : formatInstant(operand);
}

/** A list as the text of a Postgres array: every item in quotes. */
function arrayText(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/** A comparison of a field with a value. Unknown counts as false; `neq` with a missing value is true. */
function compareSql(
  { field, operator, values }: Comparison<RunField | PairField>,
  { sql, type }: FieldSql,
  out: SqlValues,
): string {
  const [value = null] = values;
  if (value === null && operator !== 'in') return `${sql} IS ${operator === 'neq' ? 'NOT NULL' : 'NULL'}`;
  if (type === 'boolean') return (operator === 'eq') === (value === true) ? sql : `NOT ${sql}`;
  const text = textOf(field, value);
  switch (operator) {
    case 'eq':
      return `${sql} = ${out.bind(type, text)}`;
    case 'neq':
      return `${sql} IS DISTINCT FROM ${out.bind(type, text)}`;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return `${sql} ${ORDER[operator]} ${out.bind(type, text)}`;
    case 'in':
      return `${sql} = ANY (${out.bind(`${type}[]`, arrayText(values.map((item) => textOf(field, item))))})`;
    case 'like':
      return `${sql} LIKE ${out.bind(type, text)} ESCAPE ''`;
    default:
      return operator satisfies never;
  }
}

const KEY: FieldSql = { sql: 'x.key', type: 'text' };
const VALUE: FieldSql = { sql: 'x.value', type: 'text' };

const FIELD_SQL: Readonly<Record<PairField, FieldSql>> = {
  metadata_key: KEY,
  metadata_value: VALUE,
  input_key: KEY,
  input_value: VALUE,
  output_key: KEY,
  output_value: VALUE,
  feedback_key: KEY,
  feedback_score: { sql: 'x.score', type: 'float8' },
  feedback_value: VALUE,
  feedback_source: { sql: 'x.source', type: 'text' },
};

/** The payloads whose pairs are read from them. */
const PAYLOADS = { input: 'inputs', output: 'outputs' } as const;

/**
 * SQL that is true when some pair `x` of the run in row `r` meets a condition. Pairs of metadata are
 * partitioned by time; feedback is not, and may come before its run.
 */
function someSql(family: PairFamily, r: string, condition: string, fence: string): string {
  if (family === 'input' || family === 'output')
    return payloadSql(
      r,
      `EXISTS (SELECT FROM payload_pairs(${smallPayload(`p.${PAYLOADS[family]}`)}) x WHERE ${condition})`,
    );
  const ofRun = `x.tenant_id = ${r}.tenant_id AND x.project_id = ${r}.project_id AND x.run_id = ${r}.id AND x.trace_id = ${r}.trace_id`;
  const source =
    family === 'feedback'
      ? `${FILTER_TABLES.feedback} x WHERE ${ofRun}`
      : `${FILTER_TABLES.pairs} x WHERE ${ofRun} AND x.start_time = ${r}.start_time AND x.kind = ${METADATA}`;
  return `EXISTS (SELECT FROM ${source} AND ${condition}${fence})`;
}

function pairConditionSql(condition: PairCondition, out: SqlValues): string {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return `(${condition.conditions.map((each) => pairConditionSql(each, out)).join(condition.kind === 'and' ? ' AND ' : ' OR ')})`;
    case 'not':
      return `((${pairConditionSql(condition.condition, out)}) IS NOT TRUE)`;
    case 'compare':
      return compareSql(condition, FIELD_SQL[condition.field], out);
    default:
      return condition satisfies never;
  }
}

/**
 * True when the condition names key and value: then their index, which includes the time, is the short way
 * from either side.
 */
function isNamed(condition: PairCondition): boolean {
  const conditions = condition.kind === 'and' ? condition.conditions : [condition];
  const names = (ending: string) =>
    conditions.some(
      (each) => each.kind === 'compare' && each.operator === 'eq' && each.field.endsWith(ending),
    );
  return names('_key') && names('_value');
}

/** SQL that is true when some pair of the run in row `r` meets the condition. */
function pairSql(family: PairFamily, condition: PairCondition, r: string, out: SqlValues): string {
  const isFree = !out.isCopy && family === 'metadata' && isNamed(condition);
  return someSql(family, r, pairConditionSql(condition, out), isFree ? '' : ` ${FENCE}`);
}

/** The pattern of texts that contain this one. */
function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}

type Payload = 'error' | 'inputs' | 'outputs' | 'metadata';

/**
 * Metadata are a part of `extra`, and the rest of it is not searched. An `extra` that Postgres cannot take
 * apart (it holds a NUL) is searched as a whole. Only the beginning of each payload is read.
 */
const SEARCHED_METADATA = `CASE WHEN ${IS_READABLE} THEN (p.extra::json -> 'metadata')::text ELSE ${beginning('p.extra')} END`;

function inPayload(field: Payload, text: string, out: SqlValues): string {
  if (field === 'error') return `${beginning('p.error')} ILIKE ${out.bind('text', containing(text))}`;
  const wanted = jsonSearch(text);
  const has = (json: string): string =>
    wanted.kind === 'text'
      ? `${json} ILIKE ${out.bind('text', containing(wanted.text))}`
      : `lower(${json}) ~ ${out.bind('text', wanted.pattern)}`;
  if (field === 'metadata') return `(${has(beginning('p.extra'))} AND ${has(SEARCHED_METADATA)})`;
  return has(beginning(`p.${field}`));
}

/** SQL that is true when a text occurs in one of the fields of the run in row `r`, ignoring case. */
function searchSql(fields: readonly SearchField[], text: string, r: string, out: SqlValues): string {
  // bound only when it is used: Postgres infers no type for an unused parameter
  const plain = () => out.bind('text', containing(text));
  const found: string[] = [];
  const payloads: string[] = [];
  for (const field of fields)
    if (field === 'name') found.push(`${r}.name ILIKE ${plain()}`);
    else if (field === 'tags')
      found.push(`EXISTS (SELECT FROM unnest(${r}.tags) AS g WHERE g ILIKE ${plain()})`);
    else payloads.push(inPayload(field, text, out));
  if (payloads.length > 0) found.push(payloadSql(r, `(${payloads.join(' OR ')})`));
  return `(${found.join(' OR ')})`;
}

/** The fields that are columns, by the columns of `runs`. */
const COLUMN_TYPE: Readonly<
  Record<Exclude<RunField, 'error' | 'latency' | 'execution_order'>, FieldSql['type']>
> = {
  id: 'uuid',
  trace_id: 'uuid',
  parent_run_id: 'uuid',
  thread_id: 'text',
  name: 'text',
  run_type: 'text',
  status: 'text',
  is_root: 'boolean',
  start_time: 'timestamptz',
  end_time: 'timestamptz',
  first_token_time: 'timestamptz',
  total_tokens: 'numeric',
  prompt_tokens: 'numeric',
  completion_tokens: 'numeric',
  total_cost: 'numeric',
  prompt_cost: 'numeric',
  completion_cost: 'numeric',
};

/** An error is a payload, read only if it exists: a run without one has `eq(error, null)`. */
function errorSql(comparison: Comparison<RunField>, r: string, out: SqlValues): string {
  const isNull = comparison.values[0] === null;
  const isAbsent = comparison.operator === (isNull ? 'eq' : 'neq');
  const positive = isAbsent
    ? { ...comparison, operator: isNull ? ('neq' as const) : ('eq' as const) }
    : comparison;
  const found = payloadSql(
    r,
    compareSql(positive, { sql: isNull ? 'p.error' : beginning('p.error'), type: 'text' }, out),
  );
  return isAbsent ? `NOT ${found}` : found;
}

function comparisonSql(comparison: Comparison<RunField>, r: string, out: SqlValues): string {
  const { field } = comparison;
  if (field === 'error') return errorSql(comparison, r, out);
  if (field === 'latency')
    return compareSql(comparison, { sql: `${r}.end_time - ${r}.start_time`, type: 'interval' }, out);
  if (field === 'execution_order') return compareSql(comparison, { sql: '1', type: 'numeric' }, out);
  // files of an export have the status that is stored
  if (field === 'status' && !out.isCopy)
    return compareSql(comparison, { sql: shownStatusSql(r), type: 'text' }, out);
  const sql = isTotalColumn(field) ? shownTotalSql(r, field) : `${r}.${field}`;
  return compareSql(comparison, { sql, type: COLUMN_TYPE[field] }, out);
}

/**
 * A filter as a condition on a row of `runs` named `r`. True when it holds; false or unknown when it does
 * not.
 */
function conditionSql(filter: Filter, r: string, out: SqlValues): string {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return `(${filter.conditions.map((each) => conditionSql(each, r, out)).join(filter.kind === 'and' ? ' AND ' : ' OR ')})`;
    case 'not':
      return `((${conditionSql(filter.condition, r, out)}) IS NOT TRUE)`;
    case 'compare':
      return comparisonSql(filter, r, out);
    case 'pair':
      return pairSql(filter.family, filter.condition, r, out);
    case 'tag':
      return `${out.bind('text', filter.tag)} = ANY (${r}.tags)`;
    case 'contains':
      return metadataSql(r, (metadata) => `${metadata} @> ${out.bind('jsonb', filter.json)}`);
    case 'key':
      return metadataSql(r, (metadata) => `${metadata} -> ${out.bind('text', filter.key)} IS NOT NULL`);
    case 'search':
      return searchSql(filter.fields, filter.text, r, out);
    default:
      return filter satisfies never;
  }
}

/** The filters of a query: of the run itself, of the root of its trace, of any run of its trace. All must hold. */
export interface RunFilters {
  readonly filter?: Filter | undefined;
  readonly traceFilter?: Filter | undefined;
  readonly treeFilter?: Filter | undefined;
}

/**
 * SQL that is true when a run `t` of the trace of row `r` meets a condition. Keys give the days that the runs
 * of a trace are in.
 */
function inTrace(condition: string): string {
  const { keys, runs } = FILTER_TABLES;
  return `EXISTS (SELECT FROM ${keys} k JOIN ${runs} t ON t.tenant_id = k.tenant_id AND t.project_id = k.project_id AND t.start_time = k.start_time AND t.id = k.id AND t.trace_id = k.trace_id WHERE k.tenant_id = r.tenant_id AND k.project_id = r.project_id AND k.trace_id = r.trace_id AND ${condition} ${FENCE})`;
}

/**
 * A condition on a row of `runs` named `r`, made of constants and of parameters from `values`. It covers the
 * row's own tenant and project alone; the statement around it selects these.
 * @returns `TRUE` without any filter
 */
export function filterSql({ filter, traceFilter, treeFilter }: RunFilters, values: SqlValues): string {
  const all: string[] = [];
  if (filter) all.push(conditionSql(filter, 'r', values));
  if (traceFilter) all.push(inTrace(`t.is_root AND ${conditionSql(traceFilter, 't', values)}`));
  if (treeFilter) all.push(inTrace(conditionSql(treeFilter, 't', values)));
  return all.length === 0 ? 'TRUE' : `(${all.join(' AND ')})`;
}
