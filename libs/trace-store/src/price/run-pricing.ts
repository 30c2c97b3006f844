import type { Queryable } from '#lib/postgres';
import type { Clock } from '#lib/time';
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
import { PriceBook, type RunModel } from './price-book.js';
import { pricesOf } from './price-table.js';

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
function modelToPrice(row: RunRow): RunModel | undefined {
  const { model, modelMember, provider } = row;
  return model === undefined || !isPriceable(row) ? undefined : { model, modelMember, provider };
}

/** True when both have the same price, regardless of the table. */
function isPricedAlike(one: PricedBy, other: PricedBy): boolean {
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
function pricedRun(row: RunRow, price: ModelPrice): RunRow {
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

/** Tenants whose prices are remembered; a memory of more begins anew. */
const MAX_KNOWN = 1_000;
/** Memory of their tables and models, about. */
const MAX_KNOWN_BYTES = 32 << 20;
/** Another process may change a price. */
const KNOWN_FOR_MS = 30_000;

interface KnownBook {
  readonly book: PriceBook;
  /** Text of the rows that it was made of. */
  readonly text: string;
  untilMs: number;
}

/** A run before and after a change that left out the costs from the price table. */
interface ChangedRun {
  readonly before: RunRow;
  readonly row: RunRow;
}

/** Prices runs while they are stored. The table of a tenant is remembered, so that a batch costs no query for it. */
export class RunPricing {
  readonly #known = new Map<string, KnownBook>();
  /** Prices of all tenants that have no row of their own. */
  #shipped: PriceBook | undefined;

  /** @param prices those of the platform */
  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly prices: readonly ModelPrice[],
  ) {}

  /** Drops the cached prices of a tenant, so that they are read again. */
  forget(tenantId: string): void {
    const known = this.#known.get(tenantId);
    if (known) known.untilMs = 0;
  }

  async book(db: Queryable, tenantId: string): Promise<PriceBook> {
    const nowMs = this.clock.monotonicMs();
    const known = this.#known.get(tenantId);
    if (known && known.untilMs > nowMs) return known.book;
    const prices = await pricesOf(db, tenantId, this.prices);
    const text = textOf(prices);
    const book = known?.text === text ? known.book : this.#bookOf(prices);
    if (this.#known.size >= MAX_KNOWN || this.#knownBytes() > MAX_KNOWN_BYTES) this.#known.clear();
    this.#known.set(tenantId, { book, text, untilMs: nowMs + KNOWN_FOR_MS });
    return book;
  }

  #knownBytes(): number {
    let bytes = 0;
    for (const { book, text } of this.#known.values())
      bytes += 2 * text.length + (book === this.#shipped ? 0 : book.bytes);
    return bytes;
  }

  /** New runs with their costs. */
  async priced(db: Queryable, tenantId: string, rows: readonly RunRow[]): Promise<readonly RunRow[]> {
    const models = rows.map(modelToPrice);
    if (models.every((model) => model === undefined)) return rows;
    const book = await this.book(db, tenantId);
    await book.learn(models.filter((model) => model !== undefined));
    return rows.map((row, at) => priced(row, models[at], book));
  }

  /** Changed runs with their costs: those that it was priced by before, unless something of that has changed. */
  async repriced(db: Queryable, tenantId: string, runs: readonly ChangedRun[]): Promise<readonly RunRow[]> {
    const kept = runs.map(({ before, row }) => {
      const isKept = before.priceId !== undefined && modelToPrice(row) && isPricedAlike(before, row);
      return isKept ? withPriceOf(before, row) : undefined;
    });
    const found = await this.priced(
      db,
      tenantId,
      runs.filter((_run, at) => !kept[at]).map(({ row }) => row),
    );
    const rest = found.values();
    return kept
      .map((row, at) => row ?? rest.next().value ?? runs[at]?.row)
      .filter((row) => row !== undefined);
  }

  /** The same with the current table, for runs whose costs are not their senders'. */
  pricedAnew(db: Queryable, tenantId: string, rows: readonly RunRow[]): Promise<readonly RunRow[]> {
    return this.priced(db, tenantId, rows.map(withoutPrice));
  }

  #bookOf(prices: readonly ModelPrice[]): PriceBook {
    if (prices.some(({ isOwn }) => isOwn)) return PriceBook.of(prices);
    return (this.#shipped ??= PriceBook.of(this.prices));
  }
}

function priced(row: RunRow, model: RunModel | undefined, book: PriceBook): RunRow {
  const price = model && book.find(model, row.startTime, row.promptTokens);
  return price ? pricedRun(row, price) : row;
}

function withPriceOf(
  { totalCost, promptCost, completionCost, priceId, usageDetails }: RunRow,
  row: RunRow,
): RunRow {
  return { ...row, totalCost, promptCost, completionCost, priceId, usageDetails };
}

function textOf(prices: readonly ModelPrice[]): string {
  const own = prices.filter(({ isOwn }) => isOwn);
  return JSON.stringify(own, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
