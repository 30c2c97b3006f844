import { isCall } from '../run/own-usage.js';
import type { RunRow } from '../run/stored-run.js';
import { type CostDetails, detailsOf, type TokenDetails } from '../usage/usage-details.js';
import {
  costText,
  costUnits,
  type ModelPrice,
  plainText,
  type PriceDetails,
  priceUnits,
} from './model-price.js';
import type { RunModel } from './price-book.js';

/** Facts that a run is priced by. */
type PricedBy = Pick<
  RunRow,
  | 'runType'
  | 'model'
  | 'modelMember'
  | 'provider'
  | 'promptTokens'
  | 'completionTokens'
  | 'totalTokens'
  | 'usageDetails'
>;

/** The run without the costs that are from the price table. The sender's costs stay. */
export function withoutPrice(row: RunRow): RunRow {
  if (row.priceId === undefined) return row;
  const { promptTokens, completionTokens } = row.usageDetails ?? {};
  return {
    ...row,
    priceId: undefined,
    totalCost: undefined,
    promptCost: undefined,
    completionCost: undefined,
    usageDetails: detailsOf({
      promptTokens,
      completionTokens,
      promptCosts: undefined,
      completionCosts: undefined,
    }),
  };
}

/** Calls of models with tokens; those whose sender states a cost have it. */
function isPriceable(row: RunRow): boolean {
  return (
    isCall(row.runType) &&
    (row.promptTokens !== undefined || row.completionTokens !== undefined) &&
    row.totalCost === undefined &&
    row.promptCost === undefined &&
    row.completionCost === undefined
  );
}

/** The model of a run that has no cost and may get one. */
export function modelToPrice(row: RunRow): RunModel | undefined {
  const { model, modelMember, provider } = row;
  return model === undefined || !isPriceable(row) ? undefined : { model, modelMember, provider };
}

/** True when both have the same price, regardless of the table. */
export function isPricedAlike(one: PricedBy, other: PricedBy): boolean {
  return (
    one.runType === other.runType &&
    one.model === other.model &&
    one.modelMember === other.modelMember &&
    one.provider === other.provider &&
    one.promptTokens === other.promptTokens &&
    one.completionTokens === other.completionTokens &&
    tokenDetails(one) === tokenDetails(other)
  );
}

function tokenDetails({ usageDetails: { promptTokens, completionTokens } = {} }: PricedBy): string {
  return JSON.stringify([promptTokens, completionTokens]);
}

interface Side {
  /** Units of 1e-15. */
  readonly units: bigint;
  readonly details: CostDetails | undefined;
}

/** Cost of one side: kinds with a price of their own cost that, all other tokens the price of the side. */
function sideOf(
  all: number,
  kinds: TokenDetails | undefined,
  price: string,
  prices: PriceDetails | undefined,
): Side {
  if (!kinds || !prices) return { units: BigInt(all) * priceUnits(price), details: undefined };
  let left = all;
  let units = 0n;
  const details: [string, string][] = [];
  for (const [kind, own] of Object.entries(prices)) {
    // a sender may count a token twice
    const count = Math.min(Object.hasOwn(kinds, kind) ? (kinds[kind] ?? 0) : 0, left);
    if (count === 0) continue;
    left -= count;
    const cost = BigInt(count) * priceUnits(own);
    units += cost;
    details.push([kind, plainText(cost)]);
  }
  return {
    units: units + BigInt(left) * priceUnits(price),
    details: details.length === 0 ? undefined : Object.fromEntries(details),
  };
}

/** The run with its costs; unchanged when they are more than a column holds. */
export function pricedRun(row: RunRow, price: ModelPrice): RunRow {
  const { promptTokens, completionTokens } = row.usageDetails ?? {};
  const prompt = sideOf(row.promptTokens ?? 0, promptTokens, price.promptCost, price.promptCostDetails);
  const completion = sideOf(
    row.completionTokens ?? 0,
    completionTokens,
    price.completionCost,
    price.completionCostDetails,
  );
  const [promptUnits, completionUnits] = [costUnits(prompt.units), costUnits(completion.units)];
  // the shown parts add up
  const totalCost = costText(promptUnits + completionUnits);
  if (totalCost === undefined) return row;
  return {
    ...row,
    priceId: price.id,
    totalCost,
    promptCost: costText(promptUnits),
    completionCost: costText(completionUnits),
    usageDetails: detailsOf({
      promptTokens,
      completionTokens,
      promptCosts: prompt.details,
      completionCosts: completion.details,
    }),
  };
}
