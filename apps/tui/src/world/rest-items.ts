import type { Change } from '#lib/kube';
import { errorText } from '#lib/errors';
import type { RestRequests } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import type { Item, RestList } from './items.js';
import type { StoppableItems } from './kube-world.js';

const READ_MS = 3_000;
const MOST_TRACES = 100;
const SELECTED = [
  'id',
  'name',
  'run_type',
  'status',
  'start_time',
  'latency',
  'total_tokens',
  'total_cost',
  'error',
];

interface KeyRow {
  readonly id: string;
  readonly description?: string;
  readonly name?: string;
}

const LISTS: Readonly<Record<RestList, (rest: RestRequests) => Promise<readonly Item[]>>> = {
  keys: async (rest) => {
    const keys = await rest.request<readonly KeyRow[]>('GET', '/api/v1/api-key?include_revoked=false');
    return keys.map((key) => ({
      metadata: { name: key.id },
      key: { ...key, name: key.name ?? key.description ?? '' },
    }));
  },
  traces: async (rest) => {
    const wanted = { is_root: true, select: SELECTED, limit: MOST_TRACES };
    const { runs } = await rest.request<{ readonly runs: readonly { readonly id: string }[] }>(
      'POST',
      '/runs/query',
      wanted,
    );
    return runs.map((run) => ({ metadata: { name: run.id }, run }));
  },
};

/** A list of REST, read again every few seconds while a view shows it. */
export class RestItems implements StoppableItems {
  readonly #handlers = new Set<(change: Change<Item>) => void>();
  readonly #rest: RestRequests;
  readonly #name: RestList;
  readonly #changed: () => void;
  readonly #clock: Clock;
  #items = new Map<string, Item>();
  #cancel: () => void = () => undefined;
  #isReading = false;
  hasSynced = false;
  problem: string | undefined;

  constructor(rest: RestRequests, name: RestList, changed: () => void, clock: Clock) {
    this.#rest = rest;
    this.#name = name;
    this.#changed = changed;
    this.#clock = clock;
  }

  list(): readonly Item[] {
    return [...this.#items.values()];
  }

  find(key: string): Item | undefined {
    return this.#items.get(key);
  }

  on(handler: (change: Change<Item>) => void): () => void {
    this.#handlers.add(handler);
    for (const object of this.#items.values()) handler({ kind: 'added', object });
    if (!this.#isReading) void this.#read();
    return () => this.#handlers.delete(handler);
  }

  stop(): Promise<void> {
    this.#handlers.clear();
    this.#cancel();
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      this.#take(await LISTS[this.#name](this.#rest));
      this.problem = undefined;
    } catch (error) {
      this.problem = errorText(error);
    }
    this.hasSynced = true;
    this.#changed();
    this.#cancel = this.#clock.after(READ_MS, () => {
      if (this.#handlers.size > 0) void this.#read();
      else this.#isReading = false;
    });
  }

  #take(items: readonly Item[]): void {
    const before = this.#items;
    this.#items = new Map(items.map((item) => [item.metadata.name, item]));
    for (const [name, object] of before) if (!this.#items.has(name)) this.#tell({ kind: 'deleted', object });
    for (const [name, object] of this.#items) {
      const former = before.get(name);
      this.#tell(former ? { kind: 'changed', object, before: former } : { kind: 'added', object });
    }
  }

  #tell(change: Change<Item>): void {
    for (const handler of this.#handlers) handler(change);
  }
}
