import type { Queryable } from '#lib/postgres';
import type { Clock } from '#lib/time';
import type { RunRow } from '../run/stored-run.js';
import type { ModelPrice } from './model-price.js';
import { PriceBook, type RunModel } from './price-book.js';
import { isPricedAlike, modelToPrice, pricedRun, withoutPrice } from './price-run.js';
import { pricesOf } from './price-table.js';

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
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #prices: readonly ModelPrice[];
  readonly #known = new Map<string, KnownBook>();
  /** Prices of all tenants that have no row of their own. */
  #shipped: PriceBook | undefined;

  /** @param prices those of the platform */
  constructor(clock: Pick<Clock, 'monotonicMs'>, prices: readonly ModelPrice[]) {
    this.#clock = clock;
    this.#prices = prices;
  }

  /** Drops the cached prices of a tenant, so that they are read again. */
  forget(tenantId: string): void {
    const known = this.#known.get(tenantId);
    if (known) known.untilMs = 0;
  }

  async book(db: Queryable, tenantId: string): Promise<PriceBook> {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#known.get(tenantId);
    if (known && known.untilMs > nowMs) return known.book;
    const prices = await pricesOf(db, tenantId, this.#prices);
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
    return (this.#shipped ??= PriceBook.of(this.#prices));
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
