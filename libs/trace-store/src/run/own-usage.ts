import type { RunRow } from './stored-run.js';
import { detailsOf } from '../usage/usage-details.js';

/** Calls of models: they have tokens and costs of their own. */
const CALLS: readonly string[] = ['llm', 'embedding'];
/** Calls that may cost something and have no tokens. */
const PAID: readonly string[] = ['tool', 'retriever'];
const SUMMED: readonly string[] = [...CALLS, ...PAID];

/** Whether runs of this type are what totals are sums of. */
export function isSummedCall(runType: string): boolean {
  return SUMMED.includes(runType);
}

/** The same in SQL. @param runType an expression */
export function isSummedCallSql(runType: string): string {
  return `${runType} = ANY ('{${SUMMED.join(',')}}')`;
}

/** Whether a run of this type has tokens of its own. */
export function isCall(runType: string): boolean {
  return CALLS.includes(runType);
}

/**
 * The run without a usage that is not its own: a parent that repeats the usage of the calls below it would be counted beside
 * them. A run whose type is not known yet keeps what it states.
 */
export function withOwnUsage(row: RunRow): RunRow {
  const { runType, usageDetails } = row;
  if (runType === '' || isCall(runType)) return row;
  const isPaid = PAID.includes(runType);
  return {
    ...row,
    ...{ totalTokens: undefined, promptTokens: undefined, completionTokens: undefined },
    ...(isPaid ? {} : { totalCost: undefined, promptCost: undefined, completionCost: undefined }),
    usageDetails: isPaid
      ? detailsOf({
          ...{ promptTokens: undefined, completionTokens: undefined },
          ...{ promptCosts: usageDetails?.promptCosts, completionCosts: usageDetails?.completionCosts },
        })
      : undefined,
  };
}
