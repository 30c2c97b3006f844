import { parseJson } from '#lib/json';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { ApiError, type KubeObject, timeout, withMetadata } from '#lib/kube-semantics';
import { ChangeHistory } from './change-history.js';
import { type ChangeLog, type ChangeRecord, DatabaseOwnedError, isConnectionFailure } from './change-log.js';
import type { JsonCipher } from './json-cipher.js';
import { KeyLocks } from './key-locks.js';
import { ObjectIndex } from './object-index.js';
import { type NamespaceQuota, NamespaceUsage } from './namespace-quota.js';
import { keyText, type ResourceKey } from './resource-key.js';
import type { StoredChange, StoredObject } from './stored-object.js';

/** What a writer decides after it has seen the committed state. */
export type Decision =
  | { readonly kind: 'put'; readonly object: KubeObject }
  | { readonly kind: 'delete'; readonly object: KubeObject }
  | { readonly kind: 'keep' };

export interface ObjectStoreOptions {
  readonly log: ChangeLog;
  readonly cipher: JsonCipher;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxChanges: number;
  /** Absent: namespaces hold any number of objects. */
  readonly quota?: NamespaceQuota;
}

interface DecidedWrite {
  readonly key: ResourceKey;
  readonly before: StoredObject | undefined;
  readonly decision: Exclude<Decision, { kind: 'keep' }>;
}

interface PendingWrite extends DecidedWrite {
  readonly done: PromiseWithResolvers<StoredObject>;
}

/** As much as etcd takes. */
const MAX_OBJECT_BYTES = 1.5 * 1024 * 1024;
const MAX_BATCH = 256;
const ANSWER_MS = 30_000;
const PAUSES = { firstMs: 50, longestMs: 1_000 };
const OWN_ATTEMPTS = 6;

/**
 * All objects: read from memory, written through to Postgres.
 *
 * Writers of one key take turns, so each decides on the committed state. What they decide is queued; one loop takes
 * the queue, gives out revisions, commits the batch in one statement, and only then shows it to readers and watches.
 * So the order of revisions is the order of commits, for all kinds together. When the connection breaks inside a
 * commit, the newest revision in the database shows whether the batch was committed; if not, the batch is written again.
 */
export class ObjectStore {
  readonly #options: ObjectStoreOptions;
  readonly #index = new ObjectIndex();
  readonly #usage: NamespaceUsage;
  readonly #locks = new KeyLocks();
  readonly #listeners = new Set<(change: StoredChange) => void>();
  readonly #stopped = new AbortController();
  readonly history: ChangeHistory;
  #queue: PendingWrite[] = [];
  #flushing: Promise<void> | undefined;
  #revision = 1;
  #compactedInLog = 0;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
    this.history = new ChangeHistory(options.maxChanges);
    this.#usage = new NamespaceUsage(options.quota);
  }

  /** Newest committed revision. */
  get revision(): number {
    return this.#revision;
  }

  /** Takes the database and reads everything into memory. */
  async open(): Promise<void> {
    const { log, cipher } = this.#options;
    await this.#own();
    const loaded = await log.load();
    for (const record of loaded.objects) {
      const change = {
        ...record,
        type: 'ADDED',
        after: readRecord(record, cipher),
        before: undefined,
      } as const;
      this.#index.apply(change);
      this.#usage.add(change);
      this.#revision = Math.max(this.#revision, record.revision);
    }
    const latest = new Map<string, StoredObject>();
    const changes = loaded.changes.map((record): StoredChange => {
      const after = readRecord(record, cipher);
      const before = record.type === 'ADDED' ? undefined : latest.get(keyText(record));
      latest.set(keyText(record), after);
      return {
        type: record.type,
        resource: record.resource,
        namespace: record.namespace,
        name: record.name,
        after,
        before,
      };
    });
    this.#revision = Math.max(this.#revision, loaded.changes.at(-1)?.revision ?? 0);
    this.#compactedInLog = (loaded.changes[0]?.revision ?? this.#revision + 1) - 1;
    this.history.restore(changes, this.#compactedInLog);
  }

  /** Finishes what is queued and gives the database back. */
  async close(): Promise<void> {
    this.#stopped.abort(new Error('the API server is stopping'));
    await this.#flushing;
    await this.#options.log.close();
  }

  get(key: ResourceKey): StoredObject | undefined {
    return this.#index.get(key.resource, key.namespace, key.name);
  }

  /** In the order of namespace and name; of all namespaces when none is given. */
  list(resource: string, namespace?: string): readonly StoredObject[] {
    return this.#index.list(resource, namespace);
  }

  /** Calls back for every committed change, in order; the result unsubscribes. */
  subscribe(listener: (change: StoredChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Lets `decide` look at the committed object and carries out what it decides. Resolves, once committed, with the new
   * object, the last state of a deleted one, or what there was when it was kept. What `decide` throws is thrown. A dry
   * run carries nothing out, answers what there was, and is refused what the write would be refused: for its size, or
   * for what its namespace holds.
   */
  change(
    key: ResourceKey,
    decide: (current: StoredObject | undefined) => Decision,
    { isDryRun = false }: { readonly isDryRun?: boolean } = {},
  ): Promise<StoredObject | undefined> {
    const write = this.#locks.hold(keyText(key), async () => {
      const current = this.get(key);
      const decision = decide(current);
      if (decision.kind === 'keep') return current;
      if (isDryRun) {
        this.#usage.check(changeOf({ key, before: current, decision }, this.#revision + 1));
        return current;
      }
      const done = Promise.withResolvers<StoredObject>();
      this.#queue.push({ key, before: current, decision, done });
      this.#startFlush();
      return done.promise;
    });
    return this.#answeredInTime(write);
  }

  /** A write's answer is awaited for a bounded time while the database is unavailable; the write itself stays queued. */
  async #answeredInTime(write: Promise<StoredObject | undefined>): Promise<StoredObject | undefined> {
    const late = Promise.withResolvers<never>();
    const cancel = this.#options.clock.after(ANSWER_MS, () => {
      late.reject(timeout('the database did not confirm the write in time; the write may still be applied'));
    });
    try {
      return await Promise.race([write, late.promise]);
    } finally {
      cancel();
    }
  }

  #startFlush(): void {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      if (this.#queue.length > 0) this.#startFlush(); // queued between the loop's end and here
    });
  }

  async #flush(): Promise<void> {
    await Promise.resolve(); // writes of the same turn of the loop go into one batch
    while (this.#queue.length > 0) {
      const batch = this.#changesOf(this.#queue.slice(0, MAX_BATCH));
      this.#queue = this.#queue.slice(MAX_BATCH);
      if (batch.length === 0) continue;
      try {
        await this.#commit(batch.map(({ change }) => this.#record(change)));
      } catch (error) {
        for (const { change, write } of batch) {
          this.#usage.takeBack(change);
          write.done.reject(error);
        }
        continue;
      }
      for (const { change, write } of batch) {
        this.#revision = change.after.revision;
        this.#index.apply(change);
        this.history.add(change);
        this.#publish(change);
        write.done.resolve(change.after);
      }
      await this.#compactLog();
    }
  }

  /** The changes that writes lead to; a write that cannot be one is refused, and costs no other its place. */
  #changesOf(writes: readonly PendingWrite[]): readonly { write: PendingWrite; change: StoredChange }[] {
    const batch: { write: PendingWrite; change: StoredChange }[] = [];
    for (const write of writes) {
      try {
        const change = changeOf(write, this.#revision + 1 + batch.length);
        this.#usage.check(change);
        this.#usage.add(change);
        batch.push({ write, change });
      } catch (error) {
        write.done.reject(error);
      }
    }
    return batch;
  }

  /** A watcher that fails must not end the loop: every later write would hang. */
  #publish(change: StoredChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        const { resource, namespace, name } = change;
        this.#options.logger.error(
          { resource, namespace, name, err: error },
          'publishing a change to watches failed',
        );
      }
    }
  }

  async #commit(batch: readonly ChangeRecord[]): Promise<void> {
    const { log, logger } = this.#options;
    const last = batch.at(-1)?.revision ?? 0;
    try {
      return await log.commit(batch);
    } catch (error) {
      if (!isConnectionFailure(error)) throw error;
      logger.warn({ error: errorText(error) }, 'database connection lost during a commit, reconnecting');
    }
    const backoff = this.#backoff();
    for (;;) {
      await backoff.pause(this.#stopped.signal);
      try {
        await this.#own();
        const committed = await log.lastRevision();
        if (committed === last) return;
        if (committed > last - batch.length)
          throw new DatabaseOwnedError('another program has written to the database of the API server');
        return await log.commit(batch);
      } catch (error) {
        if (!isConnectionFailure(error)) throw error;
      }
    }
  }

  /** Takes the database; the session of one who died a moment ago may still have to notice. */
  async #own(): Promise<void> {
    const backoff = this.#backoff();
    for (;;) {
      try {
        return await this.#options.log.open();
      } catch (error) {
        if (!(error instanceof DatabaseOwnedError) || backoff.failures >= OWN_ATTEMPTS) throw error;
      }
      await backoff.pause(this.#stopped.signal);
    }
  }

  #backoff(): Backoff {
    return new Backoff(this.#options.clock, PAUSES);
  }

  async #compactLog(): Promise<void> {
    const compacted = this.history.compacted;
    if (compacted === this.#compactedInLog) return;
    try {
      await this.#options.log.compact(compacted);
      this.#compactedInLog = compacted;
    } catch (error) {
      this.#options.logger.warn(
        { error: errorText(error) },
        'compacting the change log failed, retrying later',
      );
    }
  }

  #record(change: StoredChange): ChangeRecord {
    const { type, resource, namespace, name, after } = change;
    const object = this.#options.cipher.seal(change, after.json);
    return { type, resource, namespace, name, revision: after.revision, object };
  }
}

function changeOf({ key, before, decision }: DecidedWrite, revision: number): StoredChange {
  const object = withMetadata(decision.object, { resourceVersion: String(revision) });
  const after: StoredObject = { object, json: JSON.stringify(object), revision };
  // an existing object may be deleted and made smaller, whatever its size
  const isLarger = after.json.length > (before?.json.length ?? 0) && decision.kind === 'put';
  if (isLarger && Buffer.byteLength(after.json) > MAX_OBJECT_BYTES)
    throw new ApiError(500, '', 'etcdserver: request is too large');
  const type = decision.kind === 'delete' ? 'DELETED' : before ? 'MODIFIED' : 'ADDED';
  return { type, ...key, after, before };
}

function readRecord(record: ChangeRecord, cipher: JsonCipher): StoredObject {
  const json = cipher.open(record, record.object);
  return { json, object: parseJson(json) as KubeObject, revision: record.revision };
}
