import {
  BaseStore,
  type Item,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type SearchItem,
} from '@langchain/langgraph-checkpoint';
import type { Scope } from '../store/scope.js';
import type { ItemStore, RankedItem } from './item-store.js';

interface SearchOptions {
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly limit?: number;
  readonly offset?: number;
  readonly query?: string;
  /** Whether the items' time to live begins again. */
  readonly refreshTtl?: boolean;
}

interface NamespaceOptions {
  readonly prefix?: readonly string[];
  readonly suffix?: readonly string[];
  readonly maxDepth?: number;
  readonly limit?: number;
  readonly offset?: number;
}

/** More than a request gets: graphs hold what they ask for in the memory of their own run. */
const MAX_FOUND = 10_000;

function searchItem({ score, ...item }: RankedItem): SearchItem {
  return { ...item, ...(score === undefined ? {} : { score }) };
}

/** A number of rows that may go into a statement. */
function rows(given: number | undefined, fallback: number): number {
  const count = Math.trunc(given ?? fallback);
  return count >= 0 ? Math.min(count, MAX_FOUND) : fallback;
}

function labels(matchConditions: readonly MatchCondition[] | undefined, type: string): string[] {
  return matchConditions?.find(({ matchType }) => matchType === type)?.path ?? [];
}

/** The items of the store as graphs get them: `config.store`, `runtime.store` and `getStore()`. */
export class GraphStore extends BaseStore {
  readonly #items: ItemStore;
  readonly #scope: Scope;

  constructor(items: ItemStore, scope: Scope) {
    super();
    this.#items = items;
    this.#scope = scope;
  }

  override async get(
    namespace: string[],
    key: string,
    options?: { refreshTtl?: boolean },
  ): Promise<Item | null> {
    return (await this.#items.get(this.#scope, { namespace, key }, options?.refreshTtl)) ?? null;
  }

  override async put(
    namespace: string[],
    key: string,
    value: Record<string, unknown>,
    index?: false | string[],
    options?: { ttl?: number | null },
  ): Promise<void> {
    await this.#items.put(this.#scope, { namespace, key, value, index, ttlMinutes: options?.ttl });
  }

  override async delete(namespace: string[], key: string): Promise<void> {
    await this.#items.remove(this.#scope, { namespace, key });
  }

  override async search(namespacePrefix: string[], options: SearchOptions = {}): Promise<SearchItem[]> {
    const { filter, limit, offset, query, refreshTtl } = options;
    const found = await this.#items.search(this.#scope, {
      prefix: namespacePrefix,
      filter,
      query,
      limit: rows(limit, 10),
      offset: rows(offset, 0),
      refreshes: refreshTtl,
    });
    return found.map(searchItem);
  }

  override listNamespaces(options: NamespaceOptions = {}): Promise<string[][]> {
    const { prefix = [], suffix = [], maxDepth, limit, offset } = options;
    return this.#items.namespaces(this.#scope, {
      ...{ prefix, suffix, maxDepth },
      limit: rows(limit, 100),
      offset: rows(offset, 0),
    });
  }

  /** One after the other, as they stand: what a batch writes it also reads. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = [];
    for (const operation of operations) results.push(await this.#perform(operation));
    return results as OperationResults<Op>;
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
