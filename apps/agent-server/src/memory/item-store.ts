import type { StoreTtl } from '#lib/graph-configuration';
import type { JsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import {
  getItem,
  listItems,
  listNamespaces,
  type NamespaceSearch,
  putItem,
  refreshItems,
  removeItem,
  searchItems,
} from '../store/item/items.js';
import type { ItemPlace, ItemSearch, StoredItem } from '../store/row/item-row.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import type { ItemIndex } from './item-index.js';
import { requireLabels, requirePlace, requireQuery, requireValue } from './item-limits.js';
import { NearestItems } from './nearest-items.js';

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
