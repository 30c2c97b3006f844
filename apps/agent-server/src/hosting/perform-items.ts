import { isJsonObject, type JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { ItemStore, RankedItem } from '../memory/item-store.js';
import { PATIENCE_MS, persevere } from '../store/persevere.js';
import type { StoredItem } from '../store/row/item-row.js';
import { WORKER } from '../store/worker-scope.js';

/** Higher limit than for requests: graphs hold the results in the memory of their own run. */
const MAX_FOUND = 10_000;

/** An operation on the store as a host sends it. */
type ItemOperation =
  | { readonly op: 'get'; readonly namespace: string[]; readonly key: string; readonly refreshes?: boolean }
  | {
      readonly op: 'put';
      readonly namespace: string[];
      readonly key: string;
      readonly value: JsonObject;
      readonly index?: false | string[] | null;
      readonly ttl?: number | null;
    }
  | { readonly op: 'delete'; readonly namespace: string[]; readonly key: string }
  | {
      readonly op: 'search';
      readonly prefix: string[];
      readonly filter?: JsonObject | null;
      readonly query?: string | null;
      readonly limit: number;
      readonly offset: number;
      readonly refreshes?: boolean;
    }
  | {
      readonly op: 'namespaces';
      readonly prefix: string[];
      readonly suffix: string[];
      readonly maxDepth?: number | null;
      readonly limit: number;
      readonly offset: number;
    };

/**
 * Performs operations of a batch one after the other: later ones read the writes of earlier ones.
 * @returns JSON text of the list of their results
 * @throws PublicError for an item that cannot be kept; errors of the database
 */
export async function performItems(items: ItemStore, given: unknown, clock: Clock): Promise<string> {
  const texts: string[] = [];
  for (const operation of given as ItemOperation[])
    texts.push(await persevere(clock, PATIENCE_MS, () => performItem(items, operation)));
  return `[${texts.join(',')}]`;
}

async function performItem(items: ItemStore, operation: ItemOperation): Promise<string> {
  switch (operation.op) {
    case 'get': {
      const found = await items.get(WORKER, operation, operation.refreshes);
      return found ? itemText(found) : 'null';
    }
    case 'put': {
      const { namespace, key, value, index, ttl } = operation;
      if (!isJsonObject(value)) throw new Error('an item of the store is an object');
      await items.put(WORKER, { namespace, key, value, index: index ?? undefined, ttlMinutes: ttl });
      return 'null';
    }
    case 'delete':
      await items.remove(WORKER, operation);
      return 'null';
    case 'search': {
      const { prefix, filter, query, refreshes } = operation;
      const page = { limit: rows(operation.limit), offset: rows(operation.offset) };
      const wanted = { prefix, filter: filter ?? undefined, query: query ?? undefined, refreshes, ...page };
      const found = await items.search(WORKER, wanted);
      return `[${found.map(itemText).join(',')}]`;
    }
    case 'namespaces': {
      const { prefix, suffix, maxDepth } = operation;
      const page = { limit: rows(operation.limit), offset: rows(operation.offset) };
      return JSON.stringify(
        await items.namespaces(WORKER, { prefix, suffix, maxDepth: maxDepth ?? undefined, ...page }),
      );
    }
    default:
      return operation satisfies never;
  }
}

function rows(given: number): number {
  return Math.max(0, Math.min(Math.trunc(given), MAX_FOUND));
}

/** The value is JSON already. */
function itemText({ value, ...item }: StoredItem | RankedItem): string {
  return `${JSON.stringify(item).slice(0, -1)},"value":${value}}`;
}
