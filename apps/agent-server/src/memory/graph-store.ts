import {
  BaseStore,
  type Item,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type SearchItem,
} from '@langchain/langgraph-checkpoint';
import { parseJson } from '#lib/json';
import type { Clock } from '#lib/time';
import { persevere, PATIENCE_MS } from '../store/batch.js';
import type { Scope } from '../store/scope.js';
import type { StoredItem } from '../store/row/item-row.js';
import type { ItemStore, RankedItem } from './item-store.js';

interface SearchOptions {
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly limit?: number;
  readonly offset?: number;
  readonly query?: string;
  /** True when the items' time to live begins again. */
  readonly refreshTtl?: boolean;
}

interface NamespaceOptions {
  readonly prefix?: readonly string[];
  readonly suffix?: readonly string[];
  readonly maxDepth?: number;
  readonly limit?: number;
  readonly offset?: number;
}

/** Higher limit than for requests: graphs hold the results in the memory of their own run. */
const MAX_FOUND = 10_000;

function itemOf({ value, ...item }: StoredItem): Item {
  return { ...item, value: parseJson(value) as Item['value'] };
}

function searchItem({ score, ...item }: RankedItem): SearchItem {
  return { ...itemOf(item), ...(score === undefined ? {} : { score }) };
}

/** A number of rows that may go into a statement. */
function rows(given: number | undefined, fallback: number): number {
  const count = Math.trunc(given ?? fallback);
  return count >= 0 ? Math.min(count, MAX_FOUND) : fallback;
}

function labels(matchConditions: readonly MatchCondition[] | undefined, type: string): string[] {
  return matchConditions?.find(({ matchType }) => matchType === type)?.path ?? [];
}

/**
 * The items of the store as graphs get them: `config.store`, `runtime.store` and `getStore()`. A database that is
 * unavailable is waited for: each operation may be performed twice.
 */
export class GraphStore extends BaseStore {
  readonly #items: ItemStore;
  readonly #scope: Scope;

  constructor(
    items: ItemStore,
    scope: Scope,
    private readonly clock: Clock,
  ) {
    super();
    this.#items = items;
    this.#scope = scope;
  }

  override async get(
    namespace: string[],
    key: string,
    options?: { refreshTtl?: boolean },
  ): Promise<Item | null> {
    const found = await this.#wait(() =>
      this.#items.get(this.#scope, { namespace, key }, options?.refreshTtl),
    );
    return found ? itemOf(found) : null;
  }

  override async put(
    namespace: string[],
    key: string,
    value: Record<string, unknown>,
    index?: false | string[],
    options?: { ttl?: number | null },
  ): Promise<void> {
    const item = { namespace, key, value, index, ttlMinutes: options?.ttl };
    await this.#wait(() => this.#items.put(this.#scope, item));
  }

  override async delete(namespace: string[], key: string): Promise<void> {
    await this.#wait(() => this.#items.remove(this.#scope, { namespace, key }));
  }

  override async search(namespacePrefix: string[], options: SearchOptions = {}): Promise<SearchItem[]> {
    const { filter, limit, offset, query, refreshTtl } = options;
    const wanted = {
      prefix: namespacePrefix,
      filter,
      query,
      limit: rows(limit, 10),
      offset: rows(offset, 0),
      refreshes: refreshTtl,
    };
    const found = await this.#wait(() => this.#items.search(this.#scope, wanted));
    return found.map(searchItem);
  }

  override listNamespaces(options: NamespaceOptions = {}): Promise<string[][]> {
    const { prefix = [], suffix = [], maxDepth, limit, offset } = options;
    const page = { limit: rows(limit, 100), offset: rows(offset, 0) };
    return this.#wait(() => this.#items.namespaces(this.#scope, { prefix, suffix, maxDepth, ...page }));
  }

  /** Performs the operations in order: later ones read the writes of earlier ones. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = [];
    for (const operation of operations) results.push(await this.#perform(operation));
    return results as OperationResults<Op>;
  }

  #wait<T>(statement: () => Promise<T>): Promise<T> {
    return persevere(this.clock, PATIENCE_MS, statement);
  }

  #perform(operation: Operation): Promise<unknown> {
    if ('namespacePrefix' in operation) return this.search(operation.namespacePrefix, operation);
    if ('value' in operation) {
      const { namespace, key, value, index } = operation;
      return value === null ? this.delete(namespace, key) : this.put(namespace, key, value, index);
    }
    if ('key' in operation) return this.get(operation.namespace, operation.key);
    const { matchConditions, ...rest } = operation;
    return this.listNamespaces({
      ...rest,
      prefix: labels(matchConditions, 'prefix'),
      suffix: labels(matchConditions, 'suffix'),
    });
  }
}
