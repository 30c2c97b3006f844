import { PublicError, errorText } from '#lib/errors';
import { sqlState } from '#lib/postgres';
import type { StoreTtl } from '#lib/graph-configuration';
import type { JsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import {
  ensureVectorType,
  hasVectorType,
  listEmbeddedItems,
  type Ranked,
  rankItems,
  readVectors,
  getItem,
  listItems,
  listNamespaces,
  type NamespaceSearch,
  putItem,
  refreshItems,
  removeItem,
  searchItems,
  sweepItems,
} from '../store/statement/items.js';
import { type ItemSearch, vectorBytes, type ItemPlace, type StoredItem } from '../store/row/item-row.js';
import type { Scope } from '../store/scope.js';
import { type Sql, Turns } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { ItemIndex } from './item-index.js';
import { requireLabels, requirePlace, requireQuery, requireValue } from './item-limits.js';

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

/** An item as it is given. */
export interface GivenItem extends ItemPlace {
  readonly value: JsonObject;
  /** Minutes; null: it never expires; undefined: as the agent's settings say. */
  readonly ttlMinutes?: number | null | undefined;
  /** Paths that are embedded; false: none; undefined: as the agent's settings say. */
  readonly index?: false | readonly string[] | undefined;
}

/** A search as it is asked. */
export interface AskedSearch extends ItemSearch {
  readonly limit: number;
  readonly offset: number;
  /** Text that items are to be close to in meaning; without it they come from the last changed on. */
  readonly query?: string | undefined;
  /** True when the items' time to live begins again; undefined: as the agent's settings say. */
  readonly refreshes?: boolean | undefined;
}

/** An item with its similarity to the query; undefined without one. */
export interface RankedItem extends StoredItem {
  readonly score: number | undefined;
}

export interface ItemStoreParts {
  readonly sql: Sql;
  readonly ttl: StoreTtl;
  /** Undefined: the store has no search by meaning. */
  readonly index: ItemIndex | undefined;
  readonly log: Logger;
}

/** The long-term memory of an agent: documents under namespaces, for graphs and for requests alike. */
export class ItemStore {
  readonly #nearest: NearestItems;
  #hasNamedIndex = false;

  constructor(private readonly parts: ItemStoreParts) {
    this.#nearest = new NearestItems(parts.sql);
  }

  /** @throws PublicError `invalid`, `too_large`, `forbidden`, `conflict` */
  async put(scope: Scope, { namespace, key, value, ttlMinutes, index }: GivenItem): Promise<void> {
    requirePlace({ namespace, key });
    requireValue(value);
    const { sql, ttl } = this.parts;
    const minutes = ttlMinutes === undefined ? ttl.defaultMinutes : (ttlMinutes ?? undefined);
    if (index) this.#nameMissingIndex();
    const vectors = (await this.parts.index?.vectorsOf(scope, value, index)) ?? [];
    await putItem(scope, sql, { namespace, key, value, ttlMinutes: minutes, vectors });
  }

  async get(scope: Scope, place: ItemPlace, refreshes?: boolean): Promise<StoredItem | undefined> {
    return getItem(scope, this.parts.sql, place, refreshes ?? this.parts.ttl.refreshesOnRead);
  }

  async remove(scope: Scope, place: ItemPlace): Promise<void> {
    await removeItem(scope, this.parts.sql, place);
  }

  /** @throws PublicError `invalid` for an invalid filter */
  async search(scope: Scope, search: AskedSearch): Promise<RankedItem[]> {
    requireLabels('namespace_prefix', search.prefix);
    requireQuery(search.query);
    const { sql, ttl } = this.parts;
    const ranked = await this.#rank(scope, search);
    const found = ranked
      ? await listItems(scope, sql, [...ranked.keys()])
      : await searchItems(scope, sql, search, search);
    if ((search.refreshes ?? ttl.refreshesOnRead) && found.length > 0)
      await refreshItems(
        scope,
        sql,
        found.map(({ itemId }) => itemId),
      );
    return found.map(({ itemId, item }) => ({ ...item, score: ranked?.get(itemId) }));
  }

  /** The page of the closest items with their scores; undefined without a query. */
  async #rank(scope: Scope, search: AskedSearch): Promise<ReadonlyMap<string, number> | undefined> {
    const { query, limit, offset } = search;
    if (query === undefined || query === '') return undefined;
    const { index } = this.parts;
    if (!index) {
      this.#nameMissingIndex();
      return undefined;
    }
    const wanted = { query: await index.vectorOf(scope, query), limit: offset + limit };
    const ranked = await this.#nearest.find(scope, search, wanted);
    return new Map(ranked.slice(offset).map(({ itemId, score }) => [itemId, score]));
  }

  /**
   * Logs once that the index is missing. Items are answered as LangGraph's own stores do: in order, without
   * scores.
   */
  #nameMissingIndex(): void {
    if (this.#hasNamedIndex) return;
    this.#hasNamedIndex = true;
    const note =
      'store.index of langgraph.json is not set: a query ranks no items, and index of a put embeds nothing';
    this.parts.log.warn({ note }, 'store has no index');
  }

  /** @throws PublicError `invalid` */
  async namespaces(scope: Scope, search: NamespaceSearch): Promise<string[][]> {
    requireLabels('prefix', search.prefix);
    requireLabels('suffix', search.suffix);
    return listNamespaces(scope, this.parts.sql, search);
  }
}

const MS_PER_MINUTE = 60_000;

/** Milliseconds between two statements of one sweep: runs in progress come first. */
const PAUSE_MS = 50;

export interface ItemSweeperParts {
  readonly sql: Sql;
  readonly intervalMinutes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Removes expired items of the store. They are already invisible: removing them only frees disk. */
export class ItemSweeper {
  #cancel: (() => void) | undefined;
  #isStopped = false;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(private readonly parts: ItemSweeperParts) {}

  start(): void {
    this.#schedule(this.parts.intervalMinutes * MS_PER_MINUTE);
  }

  /** Resolves when no statement is in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#sweeping;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.parts.clock.after(delayMs, () => {
      this.#sweeping = this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    const { sql, intervalMinutes, log } = this.parts;
    let hasMore = false;
    try {
      hasMore = await sweepItems(WORKER, sql);
    } catch (error) {
      log.warn({ error: errorText(error) }, 'removing expired items of the store failed');
    }
    this.#schedule(hasMore ? PAUSE_MS : intervalMinutes * MS_PER_MINUTE);
  }
}
