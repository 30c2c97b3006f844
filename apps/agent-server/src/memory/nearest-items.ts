import { PublicError } from '#lib/errors';
import { sqlState } from '#lib/postgres';
import {
  ensureVectorType,
  hasVectorType,
  listEmbeddedItems,
  type Ranked,
  rankItems,
  readVectors,
} from '../store/item/vectors.js';
import { type ItemSearch, vectorBytes } from '../store/row/item-row.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { Turns } from '../store/turns.js';
import { WORKER } from '../store/worker-scope.js';

/** Items kept between two sorts: a multiple of the wanted ones, and at least this number. */
const KEPT = 4;
const LEAST_KEPT = 1_000;

/**
 * The best of many items: those with the highest scores, among equal ones those with the lowest ids. A
 * hundred thousand are never sorted together, which would block other work.
 */
export class BestItems {
  readonly #limit: number;
  readonly #most: number;
  #kept: Ranked[] = [];
  /** The last of the best so far, once there are enough; items behind it are discarded. */
  #last: Ranked | undefined;

  constructor(limit: number) {
    this.#limit = limit;
    this.#most = Math.max(KEPT * limit, LEAST_KEPT);
  }

  add(item: Ranked): void {
    if (this.#last && compare(item, this.#last) > 0) return;
    this.#kept.push(item);
    if (this.#kept.length >= this.#most) this.#cut();
  }

  /** The best items, best first. */
  best(): Ranked[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    this.#kept = this.#kept.sort(compare).slice(0, this.#limit);
    if (this.#kept.length === this.#limit) this.#last = this.#kept.at(-1);
  }
}

/** Ids are numbers of the database, without zeros in front: the shorter is the lower. */
function compare(one: Ranked, other: Ranked): number {
  if (one.score !== other.score) return other.score - one.score;
  if (one.itemId.length !== other.itemId.length) return one.itemId.length - other.itemId.length;
  return one.itemId < other.itemId ? -1 : 1;
}

/** Vectors that one search reads without pgvector, one after the other. */
const MAX_VECTORS = 100_000;

/** Limit of the vectors that are read together; the event loop runs between two pages. */
const PAGE_BYTES = 8 * 1024 * 1024;

/** Codes for a missing type or operator: the extension is not installed. */
const UNDEFINED: readonly string[] = ['42704', '42883'];

/** Searches that read vectors at once. */
const MAX_SCANS = 2;
/** Limit per caller. */
const MAX_WAITING = 1_000;

export interface NearestQuery {
  readonly query: Float32Array;
  /** Items wanted. */
  readonly limit: number;
}

/**
 * Finds the items that are closest to a vector, by their cosine, exactly: by pgvector when the database has
 * it, else by reading the vectors that the search leaves.
 */
export class NearestItems {
  readonly #scans = new Turns({ places: MAX_SCANS, maxWaiting: MAX_WAITING, what: 'Searches by vectors' });
  #isPrepared: Promise<void> | undefined;

  constructor(private readonly sql: Sql) {}

  /** Items, closest first. @throws PublicError `bad_request` for more vectors than can be read */
  async find(scope: Scope, search: ItemSearch, wanted: NearestQuery): Promise<Ranked[]> {
    await this.#prepare();
    if (await hasVectorType(WORKER, this.sql))
      try {
        return await rankItems(scope, this.sql, search, wanted);
      } catch (error) {
        // the extension was dropped since
        if (!UNDEFINED.includes(sqlState(error) ?? '')) throw error;
      }
    return this.#scans.take(scope, () => this.#scan(scope, search, wanted));
  }

  /** Creates the extension once per process: an operator that drops it means it. */
  async #prepare(): Promise<void> {
    this.#isPrepared ??= ensureVectorType(WORKER, this.sql);
    try {
      await this.#isPrepared;
    } catch (error) {
      this.#isPrepared = undefined;
      throw error;
    }
  }

  async #scan(scope: Scope, search: ItemSearch, { query, limit }: NearestQuery): Promise<Ranked[]> {
    const dims = query.length;
    const found = await listEmbeddedItems(scope, this.sql, search, { dims, limit: MAX_VECTORS + 1 });
    if (found.length > MAX_VECTORS) throw tooMany(search);
    const itemIds = [...new Set(found)];
    const perItem = vectorBytes(dims) * Math.ceil(found.length / Math.max(1, itemIds.length));
    const pageItems = Math.max(1, Math.floor(PAGE_BYTES / perItem));
    const scores = new Map<string, number>();
    for (let at = 0; at < itemIds.length; at += pageItems)
      for (const vector of await readVectors(scope, this.sql, itemIds.slice(at, at + pageItems), dims)) {
        const score = vector.product(query);
        if (score > (scores.get(vector.itemId) ?? -Infinity)) scores.set(vector.itemId, score);
      }
    const best = new BestItems(limit);
    for (const [itemId, score] of scores) best.add({ itemId, score });
    return best.best();
  }
}

function tooMany({ prefix }: ItemSearch): PublicError {
  const under = prefix.length === 0 ? 'the store' : `namespace ${prefix.join('.')}`;
  return new PublicError(
    'bad_request',
    `Searching ${under} by a query: more than ${MAX_VECTORS} vectors; name a longer namespace or a filter, or install pgvector in the database`,
  );
}
