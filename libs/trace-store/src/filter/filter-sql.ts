import type { Comparison, Filter, RunField } from '#lib/filter-language';
import { compareSql, type FieldSql } from './compare-sql.js';
import { FENCE, FILTER_TABLES } from './filter-tables.js';
import { pairSql } from './pair-sql.js';
import { beginning, metadataSql, payloadSql } from './payload-sql.js';
import { searchSql } from './search-sql.js';
import type { SqlValues } from './sql-values.js';
import { isTotalColumn, shownTotalSql } from '../run/trace-totals.js';

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
