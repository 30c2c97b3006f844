/** One document of the store. */
export interface StoredItem {
  readonly namespace: string[];
  readonly key: string;
  /** JSON text: requests pass it on, and graphs parse it in their own process. */
  readonly value: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An item with the id of its row. */
export interface FoundItem {
  readonly itemId: string;
  readonly item: StoredItem;
}

/** Namespace and key of an item. */
export interface ItemPlace {
  readonly namespace: readonly string[];
  readonly key: string;
}

export interface ItemRow {
  readonly item_id: string;
  readonly namespace: string[];
  readonly key: string;
  readonly value: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Columns of an item `i`. */
export const ITEM_COLUMNS =
  'i.item_id, i.namespace, i.key, i.value::text AS value, i.created_at, i.updated_at';

export function storedItem({ namespace, key, value, ...row }: ItemRow): StoredItem {
  return { namespace, key, value, createdAt: row.created_at, updatedAt: row.updated_at };
}

/** Document that filters of callers are matched with: the fields of the value, with the place of the item. */
export function itemDocument(namespace: string, key: string, value: string): string {
  return `(${value} || jsonb_build_object('namespace', to_jsonb(${namespace}), 'key', ${key}))`;
}

/** The document of an item `i`. */
export const ITEM_DOCUMENT = itemDocument('i.namespace', 'i.key', 'i.value');

/** SQL: an expired item does not exist any more, whenever its row is removed. */
export const ITEM_IS_LIVE = '(i.expires_at IS NULL OR i.expires_at > clock_timestamp())';

/** Expiry of an item that is written or read now. */
export function expiryIn(minutes: string): string {
  return `clock_timestamp() + ${minutes} * interval '1 minute'`;
}
