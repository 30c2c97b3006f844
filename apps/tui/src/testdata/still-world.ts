import type { Change } from '#lib/kube';
import { keyOf, keyText } from '#lib/resources';
import type { Deeds, Outcome } from '../screen/effect-runner.js';
import type { Item, Items, RestQuery, Source, World } from '../world/items.js';

/** Items in memory that a test changes. */
export class ListedItems implements Items {
  readonly #items = new Map<string, Item>();
  readonly #handlers = new Set<(change: Change<Item>) => void>();
  hasSynced = true;

  constructor(items: readonly Item[] = []) {
    for (const item of items) this.#items.set(keyText(keyOf(item)), item);
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
    return () => this.#handlers.delete(handler);
  }

  put(object: Item): void {
    const key = keyText(keyOf(object));
    const before = this.#items.get(key);
    this.#items.set(key, object);
    this.#tell(before ? { kind: 'changed', object, before } : { kind: 'added', object });
  }

  remove(key: string): void {
    const object = this.#items.get(key);
    if (!object) return;
    this.#items.delete(key);
    this.#tell({ kind: 'deleted', object });
  }

  #tell(change: Change<Item>): void {
    for (const handler of this.#handlers) handler(change);
  }
}

/** A world that only a test changes. Namespaces filter as the API server does. */
export class StillWorld implements World {
  readonly #lists = new Map<string, ListedItems>();
  readonly #readers = new Set<() => void>();
  revision = 0;
  trouble: string | undefined;
  /** The part of a list of REST that was asked for last. */
  query: RestQuery | undefined;

  /** @param items by the plural of their kind, or the name of a list of REST */
  constructor(items: Readonly<Record<string, readonly Item[]>>) {
    for (const [plural, all] of Object.entries(items)) {
      this.#lists.set(`${plural} `, new ListedItems(all));
      for (const namespace of new Set(all.map(({ metadata }) => metadata.namespace)))
        this.#lists.set(
          `${plural} ${namespace ?? ''}`,
          new ListedItems(all.filter(({ metadata }) => metadata.namespace === namespace)),
        );
    }
  }

  subscribe(changed: () => void): () => void {
    this.#readers.add(changed);
    return () => this.#readers.delete(changed);
  }

  itemsOf(source: Source, namespace: string | undefined): ListedItems {
    if (source.kind === 'rest') this.query = source.query;
    const isNamespaced = source.kind === 'kube' && source.ref.namespaced;
    const name = source.kind === 'rest' ? source.name : source.ref.plural;
    const key = `${name} ${isNamespaced ? (namespace ?? '') : ''}`;
    const items = this.#lists.get(key) ?? new ListedItems();
    this.#lists.set(key, items);
    return items;
  }

  changed(): void {
    this.revision++;
    for (const reader of this.#readers) reader();
  }
}

/** Deeds that are written down, and nothing else. */
export class NotedDeeds implements Deeds {
  readonly done: string[] = [];
  denied: readonly string[] = [];
  readonly chosen: string[] = [];
  texts: Readonly<Record<string, readonly string[]>> = {};

  isDenied({ verb }: { readonly verb: string }): boolean {
    return this.denied.includes(verb);
  }

  perform(_view: unknown, action: string, items: readonly Item[], answer: string): Promise<Outcome> {
    const names = items.map(({ metadata }) => metadata.name).join(',');
    this.done.push([action, names, answer].join(' ').trim());
    return Promise.resolve({ text: `${names} done`, isProblem: false });
  }

  favourites(): readonly string[] {
    return this.chosen;
  }

  edit(_view: unknown, [item]: readonly Item[]): Promise<Outcome> {
    this.done.push(`edit ${item?.metadata.name ?? ''}`);
    return Promise.resolve({ text: 'edited', isProblem: false });
  }

  chat([item]: readonly Item[]): Promise<Outcome> {
    this.done.push(`chat ${item?.metadata.name ?? ''}`);
    return Promise.resolve({ text: 'talked', isProblem: false });
  }

  save(title: string, lines: readonly string[]): Promise<Outcome> {
    this.done.push(`save ${title}`, ...lines);
    return Promise.resolve({ text: `saved to /here/${title}`, isProblem: false });
  }

  async *read(
    _view: unknown,
    item: Item | undefined,
    { text }: { readonly text: string },
  ): AsyncGenerator<readonly string[], void, void> {
    await Promise.resolve();
    yield this.texts[text] ?? [`${text} of ${item?.metadata.name ?? ''}`];
  }
}
