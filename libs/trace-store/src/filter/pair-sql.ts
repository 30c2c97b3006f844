import { type PairCondition, type PairFamily, type PairField } from '#lib/filter-language';
import { compareSql, type FieldSql } from './compare-sql.js';
import { FENCE, FILTER_TABLES, METADATA } from './filter-tables.js';
import { payloadSql, smallPayload } from './payload-sql.js';
import type { SqlValues } from './sql-values.js';

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

function conditionSql(condition: PairCondition, out: SqlValues): string {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return `(${condition.conditions.map((each) => conditionSql(each, out)).join(condition.kind === 'and' ? ' AND ' : ' OR ')})`;
    case 'not':
      return `((${conditionSql(condition.condition, out)}) IS NOT TRUE)`;
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
export function pairSql(family: PairFamily, condition: PairCondition, r: string, out: SqlValues): string {
  const isFree = !out.isCopy && family === 'metadata' && isNamed(condition);
  return someSql(family, r, conditionSql(condition, out), isFree ? '' : ` ${FENCE}`);
}
