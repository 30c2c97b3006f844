import {
  type Comparison,
  fieldRow,
  type Filter,
  FILTER_LIMITS,
  jsonSearch,
  type Operand,
  type PairCondition,
  type PairFamily,
  type PairField,
  type RunField,
  type SearchField,
} from '#lib/filter-language';
import { formatInstant } from '#lib/time';
import { ofSealed } from '../run/sealed-table.js';
import { shownStatusSql } from '../run/run-table.js';
import { RUN_COLUMNS, type RunColumnType } from '../run/stored-run.js';
import { isTotalColumn, shownTotalSql } from '../run/trace-totals.js';
import { lightFilters, payloadsOf, type RunFilters } from './payload-filters.js';

/** Types of the values of filters. */
type SqlType = 'uuid' | 'text' | 'timestamptz' | 'interval' | 'numeric' | 'float8' | 'jsonb';

/** Collects the values of a statement; its text has the returned parameters instead. */
export interface SqlValues {
  /** @returns SQL for the value: of fixed form, whatever the value is */
  bind(type: SqlType | `${SqlType}[]`, value: string): string;
  /**
   * True when rows are read in their order, a day at a time: joins would read other days with each of them.
   */
  readonly isCopy?: boolean;
  /** True when payloads of sealed runs have been loaded for the transaction, see `SealedLoader`. */
  readonly readsSealed?: boolean;
}

/** Values as parameters: `$5::text`. */
export class ParameterValues implements SqlValues {
  readonly #first: number;
  readonly #places = new Map<string, number>();

  /** @param first number of the first parameter that is free */
  constructor(
    first = 1,
    readonly readsSealed = false,
  ) {
    this.#first = first;
  }

  bind(type: SqlType | `${SqlType}[]`, value: string): string {
    return `$${this.#first + placeOf(this.#places, type, value)}::${type}`;
  }

  /** Values to pass, from the first number on. */
  get values(): readonly string[] {
    return valuesOf(this.#places);
  }
}

/**
 * Values as settings of the transaction, for COPY, which takes no parameters: `current_setting('agentplane.filter_0')`.
 * The caller sets them, by `set_config` with parameters.
 */
export class SettingValues implements SqlValues {
  readonly isCopy = true;
  readonly #places = new Map<string, number>();

  constructor(readonly readsSealed = false) {}

  bind(type: SqlType | `${SqlType}[]`, value: string): string {
    const name = settingName(placeOf(this.#places, type, value));
    // a subquery is read once, not for each row; the second cast keeps ANY from taking it for a set of rows
    return `(SELECT current_setting('${name}')::${type})::${type}`;
  }

  /** Names and values. */
  get settings(): readonly (readonly [string, string])[] {
    return valuesOf(this.#places).map((value, at) => [settingName(at), value] as const);
  }
}

function settingName(at: number): string {
  return `agentplane.filter_${at}`;
}

/** A parameter has one type, so only values that agree in both share a place. */
function placeOf(places: Map<string, number>, type: string, value: string): number {
  const name = `${type}\0${value}`;
  const place = places.get(name) ?? places.size;
  places.set(name, place);
  return place;
}

function valuesOf(places: ReadonlyMap<string, number>): readonly string[] {
  return [...places.keys()].map((name) => name.slice(name.indexOf('\0') + 1));
}

/** Tables and columns that filters read, beside the columns of `runs` themselves. */
const FILTER_TABLES = Object.freeze({
  runs: 'runs',
  payloads: 'run_payloads',
  keys: 'run_keys',
  pairs: 'run_pairs',
  feedback: 'feedback',
});

/** `kind` of `run_pairs`. */
const METADATA = 1;

/**
 * Keeps a subquery one look by key for each run. Without it the planner makes a join of it, and before the first ANALYZE
 * of a new day, when it believes in one row, a join that goes through all rows of the day for each run: 7 s for 80 runs.
 */
export const FENCE = 'OFFSET 0';

/** SQL that is true when the payloads `p` of the run in row `r` meet a condition. */
function payloadSql(r: string, condition: string, { readsSealed = false }: SqlValues): string {
  const stored = `EXISTS (SELECT FROM ${FILTER_TABLES.payloads} p WHERE p.tenant_id = ${r}.tenant_id AND p.project_id = ${r}.project_id AND p.start_time = ${r}.start_time AND p.id = ${r}.id AND p.trace_id = ${r}.trace_id AND ${condition} ${FENCE})`;
  return readsSealed ? `(${stored} OR EXISTS (SELECT ${ofSealed(r)} AND ${condition} ${FENCE}))` : stored;
}

/** A payload that is small enough to be taken apart, according to its row, without reading it; else null. */
function smallPayload(column: string): string {
  return `CASE WHEN octet_length(${column}) <= ${FILTER_LIMITS.readBytes} THEN ${column} END`;
}

/** The beginning of a payload: a condition holds what it has read of it until it is asked again. */
function beginning(column: string): string {
  return `left(${column}, ${FILTER_LIMITS.searchedCharacters})`;
}

/** SQL: whether `extra` can be taken apart. */
const IS_READABLE = `octet_length(p.extra) <= ${FILTER_LIMITS.readBytes} AND pg_input_is_valid(p.extra, 'jsonb')`;

/**
 * SQL that is true when the metadata meet a condition; metadata that are too large, or no `jsonb` for
 * Postgres (a NUL, a number too great), meet none.
 */
function metadataSql(r: string, out: SqlValues, condition: (metadata: string) => string): string {
  return payloadSql(
    r,
    `CASE WHEN ${IS_READABLE} THEN ${condition(`(p.extra::jsonb -> 'metadata')`)} END`,
    out,
  );
}

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
function someSql(family: PairFamily, r: string, condition: string, fence: string, out: SqlValues): string {
  if (family === 'input' || family === 'output')
    return payloadSql(
      r,
      `EXISTS (SELECT FROM payload_pairs(${smallPayload(`p.${PAYLOADS[family]}`)}) x WHERE ${condition})`,
      out,
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
  return someSql(family, r, pairConditionSql(condition, out), isFree ? '' : ` ${FENCE}`, out);
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
  if (payloads.length > 0) found.push(payloadSql(r, `(${payloads.join(' OR ')})`, out));
  return `(${found.join(' OR ')})`;
}

/** Types of columns in comparisons; columns of other types are compared otherwise. */
const COMPARED_AS = {
  uuid: 'uuid',
  text: 'text',
  status: 'text',
  tier: 'text',
  time: 'timestamptz',
  bool: 'boolean',
  int8: 'numeric',
  numeric: 'numeric',
} as const satisfies Partial<Record<RunColumnType, FieldSql['type']>>;

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
    out,
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
  return compareSql(comparison, { sql, type: COMPARED_AS[RUN_COLUMNS[field].type] }, out);
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
      return metadataSql(r, out, (metadata) => `${metadata} @> ${out.bind('jsonb', filter.json)}`);
    case 'key':
      return metadataSql(r, out, (metadata) => `${metadata} -> ${out.bind('text', filter.key)} IS NOT NULL`);
    case 'search':
      return searchSql(filter.fields, filter.text, r, out);
    default:
      return filter satisfies never;
  }
}

/** The runs `t` of the trace of row `r` that meet a condition. Keys give the days that the runs of a trace are in. */
function traceRuns(condition: string): string {
  const { keys, runs } = FILTER_TABLES;
  return `FROM ${keys} k JOIN ${runs} t ON t.tenant_id = k.tenant_id AND t.project_id = k.project_id AND t.start_time = k.start_time AND t.id = k.id AND t.trace_id = k.trace_id WHERE k.tenant_id = r.tenant_id AND k.project_id = r.project_id AND k.trace_id = r.trace_id AND ${condition} ${FENCE}`;
}

/** SQL that is true when a run `t` of the trace of row `r` meets a condition. */
function inTrace(condition: string): string {
  return `EXISTS (SELECT ${traceRuns(condition)})`;
}

/**
 * A query of the places of sealed runs whose payloads the SQL of these filters may read, in columns `segment` and
 * `ordinal`: a run that fails another condition is left out, since its payloads decide nothing.
 * @param rowsOf query of columns of the rows `r` that meet `lightFilters` of these and what else the statement asks for,
 * and this condition
 * @returns undefined when they read no payloads
 */
export function sealedPlacesSql(
  filters: RunFilters,
  rowsOf: (columns: string, condition: string) => string,
  values: SqlValues,
): string | undefined {
  const { filter, traceFilter, treeFilter } = filters;
  const all: string[] = [];
  const ofTraces = (own: Filter, condition: string): void => {
    const light = lightFilters({ filter: own }).filter;
    const more = light ? ` AND ${conditionSql(light, 't', values)}` : '';
    all.push(
      `SELECT t.segment, t.ordinal FROM (SELECT DISTINCT * FROM (${rowsOf('r.tenant_id, r.project_id, r.trace_id', 'TRUE')}) r) r
      CROSS JOIN LATERAL (SELECT t.segment, t.ordinal ${traceRuns(`t.segment IS NOT NULL${condition}${more}`)}) t`,
    );
  };
  if (filter && payloadsOf({ filter }).length > 0)
    all.push(`SELECT * FROM (${rowsOf('r.segment, r.ordinal', 'r.segment IS NOT NULL')}) r`);
  if (traceFilter && payloadsOf({ traceFilter }).length > 0) ofTraces(traceFilter, ' AND t.is_root');
  if (treeFilter && payloadsOf({ treeFilter }).length > 0) ofTraces(treeFilter, '');
  return all.length === 0 ? undefined : all.join(' UNION ALL ');
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
