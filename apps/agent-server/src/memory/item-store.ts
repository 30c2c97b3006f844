import type { JsonObject } from '#lib/json';
import type { StoreTtl } from '#lib/graph-configuration';
import { getItem } from '../store/item/get-item.js';
import { listNamespaces, type NamespaceSearch } from '../store/item/list-namespaces.js';
import { putItem } from '../store/item/put-item.js';
import { refreshItems } from '../store/item/refresh-items.js';
import { removeItem } from '../store/item/remove-item.js';
import { searchItems } from '../store/item/search-items.js';
import type { ItemPlace, StoredItem } from '../store/row/item-row.js';
import type { ItemSearch } from '../store/row/item-search.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { requireLabels, requirePlace, requireValue } from './item-limits.js';

/** An item as it is given. */
export interface GivenItem extends ItemPlace {
  readonly value: JsonObject;
  /** Minutes; null: it never expires; undefined: as the agent's settings say. */
  readonly ttlMinutes?: number | null | undefined;
}

/** A search as it is asked. */
export interface AskedSearch extends ItemSearch {
  readonly limit: number;
  readonly offset: number;
  /** Whether the items' time to live begins again; undefined: as the agent's settings say. */
  readonly refreshes?: boolean | undefined;
}

/** An item with how close it is to what was asked for; undefined where it was not asked. */
export interface RankedItem extends StoredItem {
  readonly score: number | undefined;
}

export interface ItemStoreParts {
  readonly sql: Sql;
  readonly ttl: StoreTtl;
}

/** The long-term memory of an agent: documents under namespaces, for graphs and for requests alike. */
export class ItemStore {
  constructor(private readonly parts: ItemStoreParts) {}

  /** @throws PublicError `invalid`, `too_large`, `forbidden`, `conflict` */
  async put(scope: Scope, { namespace, key, value, ttlMinutes }: GivenItem): Promise<void> {
    requirePlace({ namespace, key });
    requireValue(value);
    const { sql, ttl } = this.parts;
    const minutes = ttlMinutes === undefined ? ttl.defaultMinutes : (ttlMinutes ?? undefined);
    await putItem(scope, sql, { namespace, key, value, ttlMinutes: minutes, vectors: [] });
  }

  async get(scope: Scope, place: ItemPlace, refreshes?: boolean): Promise<StoredItem | undefined> {
    return getItem(scope, this.parts.sql, place, refreshes ?? this.parts.ttl.refreshesOnRead);
  }

  async remove(scope: Scope, place: ItemPlace): Promise<void> {
    await removeItem(scope, this.parts.sql, place);
  }

  /** @throws PublicError `invalid` for what is no filter */
  async search(scope: Scope, search: AskedSearch): Promise<RankedItem[]> {
    requireLabels('namespace_prefix', search.prefix);
    const { sql, ttl } = this.parts;
    const found = await searchItems(scope, sql, search, search);
    if ((search.refreshes ?? ttl.refreshesOnRead) && found.length > 0)
      await refreshItems(
        scope,
        sql,
        found.map(({ itemId }) => itemId),
      );
    return found.map(({ item }) => ({ ...item, score: undefined }));
  }

  /** @throws PublicError `invalid` */
  async namespaces(scope: Scope, search: NamespaceSearch): Promise<string[][]> {
    requireLabels('prefix', search.prefix);
    requireLabels('suffix', search.suffix);
    return listNamespaces(scope, this.parts.sql, search);
  }
}
