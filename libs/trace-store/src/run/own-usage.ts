import type { RunRow } from './stored-run.js';
import { detailsOf } from '../usage/usage-details.js';

/** Calls of models: they have tokens and costs of their own. */
const CALLS: readonly string[] = ['llm', 'embedding'];
/** Calls that may cost something and have no tokens. */
const PAID: readonly string[] = ['tool', 'retriever'];
const SUMMED: readonly string[] = [...CALLS, ...PAID];

/** True when totals sum runs of this type. */
export function isSummedCall(runType: string): boolean {
  return SUMMED.includes(runType);
}

/** The same in SQL. @param runType an expression */
export function isSummedCallSql(runType: string): string {
  return `${runType} = ANY ('{${SUMMED.join(',')}}')`;
}

/** True when a run of this type has tokens of its own. */
export function isCall(runType: string): boolean {
  return CALLS.includes(runType);
}

/** Tells whether a run is a call that states tokens or a cost. */
export function hasUsage({ runType, totalTokens, totalCost }: RunRow): boolean {
  return isCall(runType) && (totalTokens !== undefined || totalCost !== undefined);
}

/** The same of a row in SQL. */
export function hasUsageSql(row: string): string {
  return `(${row}.run_type = ANY ('{${CALLS.join(',')}}') AND (${row}.total_tokens IS NOT NULL OR ${row}.total_cost IS NOT NULL))`;
}

/** The run without any tokens and costs. */
export function withoutUsage(row: RunRow): RunRow {
  return {
    ...row,
    totalTokens: undefined,
    promptTokens: undefined,
    completionTokens: undefined,
    totalCost: undefined,
    promptCost: undefined,
    completionCost: undefined,
    priceId: undefined,
    usageDetails: undefined,
  };
}

/**
 * The run without a usage that is not its own: a parent that repeats the usage of the calls below it would be
 * counted beside them. A run whose type is not known yet keeps its stated usage.
 */
export function withOwnUsage(row: RunRow): RunRow {
  const { runType, usageDetails } = row;
  if (runType === '' || isCall(runType)) return row;
  if (!PAID.includes(runType)) return withoutUsage(row);
  return {
    ...row,
    totalTokens: undefined,
    promptTokens: undefined,
    completionTokens: undefined,
    usageDetails: detailsOf({
      promptTokens: undefined,
      completionTokens: undefined,
      promptCosts: usageDetails?.promptCosts,
      completionCosts: usageDetails?.completionCosts,
    }),
  };
}
