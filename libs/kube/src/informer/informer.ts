import { errorText } from '#lib/errors';
import type { Log } from '#lib/reconcile';
import { keyOf, keyText, type KubeObject, type ObjectKey, type ResourceRef } from '#lib/resources';
import { Backoff, type Clock, systemClock } from '#lib/time';
import { isExpired, KubeApiError, KubeUnreachableError } from '../client/kube-api-error.js';
import type { KubeClient } from '../client/kube-client.js';
import type { Selection, WatchEvent } from '../client/request-options.js';
import { type Change, compareVersions, type Indexer, type Reader, Store } from './store.js';
import { Trouble } from './trouble.js';

interface Waiter {
  readonly version: string;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly cancel: () => void;
}

/** Callers that wait until a version has been seen. */
class VersionWaiters {
  readonly #waiters = new Set<Waiter>();
  #version = '';

  constructor(private readonly clock: Clock) {}

  wait(version: string, timeoutMs: number): Promise<void> {
    if (compareVersions(version, this.#version) <= 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(timeoutMs, () => {
        this.#waiters.delete(waiter);
        reject(new Error(`version ${version} was not seen within ${timeoutMs} ms`));
      });
      const waiter: Waiter = { version, resolve, reject, cancel };
      this.#waiters.add(waiter);
    });
  }

  reached(version: string): void {
    if (compareVersions(version, this.#version) > 0) this.#version = version;
    for (const waiter of this.#waiters) {
      if (compareVersions(waiter.version, this.#version) > 0) continue;
      this.#waiters.delete(waiter);
      waiter.cancel();
      waiter.resolve();
    }
  }

  fail(error: Error): void {
    for (const waiter of this.#waiters) {
      waiter.cancel();
      waiter.reject(error);
    }
    this.#waiters.clear();
  }
}

/**
 * Brings a listed, added or modified object into the store and says what that means to readers. Events come twice after
 * a reconnect, so an event about a version that the store has, or an older one, changes nothing; a list is the truth
 * even where its versions are older (the server's data was restored). Another uid under the same name is the end of one
 * object and the beginning of another.
 */
export function applySeen<T extends KubeObject>(
  store: Store<T>,
  object: T,
  seenIn: 'list' | 'watch',
): readonly Change<T>[] {
  const before = store.find(keyOf(object));
  if (!before) {
    store.put(object);
    return [{ kind: 'added', object }];
  }
  const order = compareVersions(versionOf(object), versionOf(before));
  if (seenIn === 'list' ? order === 0 : order <= 0) return [];
  store.put(object);
  if (before.metadata.uid !== object.metadata.uid)
    return [
      { kind: 'deleted', object: before },
      { kind: 'added', object },
    ];
  return [{ kind: 'changed', object, before }];
}

/** Takes a deleted object out of the store, unless the event is about an earlier one of the same name. */
export function applyDeleted<T extends KubeObject>(store: Store<T>, object: T): readonly Change<T>[] {
  const key = keyText(keyOf(object));
  const before = store.findByText(key);
  if (!before || before.metadata.uid !== object.metadata.uid) return [];
  store.remove(key);
  return [{ kind: 'deleted', object }];
}

/** Removes objects that a complete list does not contain: they were deleted while no watch was open. */
export function applyAbsent<T extends KubeObject>(
  store: Store<T>,
  listed: ReadonlySet<string>,
): readonly Change<T>[] {
  const changes: Change<T>[] = [];
  for (const key of store.keys()) {
    if (listed.has(key)) continue;
    const object = store.findByText(key);
    store.remove(key);
    if (object) changes.push({ kind: 'deleted', object });
  }
  return changes;
}

function versionOf(object: KubeObject): string {
  return object.metadata.resourceVersion ?? '';
}

const SEEN_WITHIN_MS = 5_000;
/** A watch of this length worked. */
const LASTING_MS = 5_000;

export type Handler<T> = (change: Change<T>) => void;

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly ref: ResourceRef<T>;
  readonly selection?: Selection;
  readonly clock?: Clock;
  readonly log: Log;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  /** The watch counts as dead when neither event nor bookmark comes for this long; API servers send one a minute. Default 80 s. */
  readonly silentForMs?: number;
  /** Part of an object that is kept. Default: all but `metadata.managedFields`. */
  readonly keep?: (object: T) => T;
  readonly random?: () => number;
  /** Shared by the informers of a program, so that an outage is logged once. */
  readonly trouble?: Trouble;
}

/**
 * A copy of one kind that follows the API server, and the changes as they come.
 *
 * - **listing**: pages go into the store as they arrive, then objects that were not in them are removed
 * - **watching** from the version of the list or of the last event or bookmark, at most 5 to 10 minutes at a
 * time
 * - **pausing** after a failure, from 0.2 s doubling to 8 s, with jitter, then watching again from the last
 * version; when
 *   the server forgot it (410) from 0.5 s doubling to 30 s, then listing
 *
 * Nothing but the objects is held: an event is applied before the next is read, so a slow reader slows the
 * socket. Changes are delivered in order; an error of a handler is logged, and the other handlers continue.
 */
export class Informer<T extends KubeObject> implements Reader<T> {
  readonly ref: ResourceRef<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #store = new Store<T>();
  readonly #handlers = new Set<Handler<T>>();
  readonly #waiters: VersionWaiters;
  readonly #trouble: Trouble;
  readonly #abort = new AbortController();
  readonly #pause: Backoff;
  /** Its own: a server that forgets everything at once must not be listed to death. */
  readonly #relistPause: Backoff;
  readonly #synced = Promise.withResolvers<void>();
  #hasSynced = false;
  #version = '';
  #mustList = true;
  #lastContactMs: number;
  #running: Promise<void> | undefined;

  constructor(private readonly options: InformerOptions<T>) {
    this.ref = options.ref;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#waiters = new VersionWaiters(this.#clock);
    this.#trouble = options.trouble ?? new Trouble(options.log);
    this.#pause = this.#backoff(150, 6_000);
    this.#relistPause = this.#backoff(375, 22_500);
    this.#lastContactMs = this.#clock.monotonicMs();
    for (const [name, indexer] of Object.entries(options.indexers ?? {})) this.#store.addIndex(name, indexer);
  }

  /** True when the store has once been complete. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get size(): number {
    return this.#store.size;
  }

  /** Milliseconds since the server last said anything; a liveness probe should fail after five minutes. */
  get silentForMs(): number {
    return this.#clock.monotonicMs() - this.#lastContactMs;
  }

  find(key: ObjectKey): T | undefined {
    return this.#store.find(key);
  }

  list(namespace?: string): T[] {
    return this.#store.list(namespace);
  }

  byIndex(index: string, value: string): T[] {
    return this.#store.byIndex(index, value);
  }

  ownedBy(owner: KubeObject): T[] {
    return this.#store.ownedBy(owner);
  }

  /** Adds an index; an existing one of that name stays. */
  addIndex(name: string, indexer: Indexer<T>): void {
    this.#store.addIndex(name, indexer);
  }

  /** Tells every change from now on, and first everything there is as added. The result takes the handler off. */
  on(handler: Handler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#store.list()) this.#deliver(handler, { kind: 'added', object });
    return () => this.#handlers.delete(handler);
  }

  /** Begins to follow. Starting twice does nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error(`the informer of ${this.ref.plural} is stopping`));
    this.#waiters.fail(this.#abort.signal.reason as Error);
    this.#synced.promise.catch(() => undefined);
    this.#synced.reject(this.#abort.signal.reason as Error);
    await this.#running;
  }

  /** Resolves once the store is complete; rejects when the informer is stopped before. */
  synced(): Promise<void> {
    return this.#synced.promise;
  }

  /**
   * Resolves when the store contains everything up to this version of an object of this kind, so that its writer
   * reads its own write. Rejects after `timeoutMs`.
   */
  waitFor(resourceVersion: string, timeoutMs = 10_000): Promise<void> {
    if (this.#abort.signal.aborted) return Promise.reject(this.#abort.signal.reason as Error);
    return this.#waiters.wait(resourceVersion, timeoutMs);
  }

  /**
   * Lets the store catch up with what was just written, so that the next pass decides from it. Waits 5 s at most: a
   * cache that is further behind is no reason to fail, since it wakes its followers.
   */
  async seen({ metadata }: KubeObject): Promise<void> {
    await this.waitFor(metadata.resourceVersion ?? '', SEEN_WITHIN_MS).catch(() => undefined);
  }

  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      try {
        if (this.#mustList) await this.#list();
        await this.#watch();
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        await this.#recover(error);
      }
    }
  }

  async #recover(error: unknown): Promise<void> {
    const fields = { resource: this.ref.plural, problem: errorText(error) };
    if (isExpired(error)) {
      this.#mustList = true;
      this.options.log.debug(fields, 'the watch is too old, listing again');
      await this.#wait(this.#relistPause);
    } else {
      // an event that could not be read would come again from the same version: a list steps over it
      if (!(error instanceof KubeApiError || error instanceof KubeUnreachableError)) this.#mustList = true;
      // one broken connection is everyday life
      if (this.#pause.failures > 0) this.#trouble.failed(this.ref.plural, fields.problem);
      await this.#wait(this.#pause);
    }
  }

  async #list(): Promise<void> {
    const listed = new Set<string>();
    let version = '';
    const { client, ref, selection } = this.options;
    for await (const page of client.pages(ref, { ...selection, signal: this.#abort.signal })) {
      this.#lastContactMs = this.#clock.monotonicMs();
      for (const item of page.items) {
        const object = this.#kept(item);
        listed.add(keyText(keyOf(object)));
        this.#tellAll(applySeen(this.#store, object, 'list'));
      }
      version = page.resourceVersion;
    }
    this.#tellAll(applyAbsent(this.#store, listed));
    this.#mustList = false;
    // set, not raised: after a restore of its data the server may count from further back
    this.#version = version;
    this.#waiters.reached(version);
    if (this.#hasSynced) return;
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  async #watch(): Promise<void> {
    const { client, ref, selection, silentForMs } = this.options;
    const startedMs = this.#clock.monotonicMs();
    const events = client.watch(ref, {
      ...selection,
      resourceVersion: this.#version,
      timeoutSeconds: 300 + Math.floor(300 * this.#random()),
      silentForMs: silentForMs ?? 80_000,
      omitsManagedFields: this.options.keep === undefined,
      signal: this.#abort.signal,
      onOpen: () => {
        this.#lastContactMs = this.#clock.monotonicMs();
        this.#trouble.worked(ref.plural);
      },
    });
    for await (const event of events) {
      this.#lastContactMs = this.#clock.monotonicMs();
      this.#apply(event);
      this.#settleAfter(startedMs);
    }
    if (this.#abort.signal.aborted) return;
    this.#settleAfter(startedMs);
    // a server that ends every watch at once would otherwise be asked thousands of times a second
    if (this.#clock.monotonicMs() - startedMs < LASTING_MS) await this.#wait(this.#pause);
  }

  /** A third around the middle is left to chance: all clients of a server that restarts come back at once otherwise. */
  #backoff(firstMs: number, longestMs: number): Backoff {
    return new Backoff(this.#clock, { firstMs, longestMs, jitter: 2 / 3, random: this.#random });
  }

  /** Returns early when the informer stops. */
  async #wait(backoff: Backoff): Promise<void> {
    await backoff.pause(this.#abort.signal).catch(() => undefined);
  }

  /** A watch that lasted ends the trouble there was. */
  #settleAfter(startedMs: number): void {
    const lastedMs = this.#clock.monotonicMs() - startedMs;
    if (lastedMs >= LASTING_MS) this.#pause.reset();
    if (lastedMs >= 6 * LASTING_MS) this.#relistPause.reset();
  }

  #apply(event: WatchEvent<T>): void {
    switch (event.type) {
      case 'BOOKMARK':
        this.#reached(event.resourceVersion);
        return;
      case 'ADDED':
      case 'MODIFIED':
        this.#tellAll(applySeen(this.#store, this.#kept(event.object), 'watch'));
        break;
      case 'DELETED':
        this.#tellAll(applyDeleted(this.#store, this.#kept(event.object)));
        break;
      default:
        event satisfies never;
    }
    this.#reached(event.object.metadata.resourceVersion ?? '');
  }

  #reached(version: string): void {
    if (version === '') return;
    // a replayed event carries an old version; going back would replay everything once more
    if (compareVersions(version, this.#version) > 0) this.#version = version;
    this.#waiters.reached(version);
  }

  #kept(object: T): T {
    return (this.options.keep ?? withoutManagedFields)(object);
  }

  #tellAll(changes: readonly Change<T>[]): void {
    for (const change of changes) for (const handler of this.#handlers) this.#deliver(handler, change);
  }

  #deliver(handler: Handler<T>, change: Change<T>): void {
    try {
      handler(change);
    } catch (error) {
      const key = keyText(keyOf(change.object));
      this.options.log.error({ resource: this.ref.plural, key, err: error }, 'a handler of changes failed');
    }
  }
}

/** They are often half of an object, and no reconciler reads them. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (!('managedFields' in object.metadata)) return object;
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { managedFields: unknown };
  return { ...object, metadata };
}
