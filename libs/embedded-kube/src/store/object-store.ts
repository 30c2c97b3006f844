import { setImmediate } from 'node:timers/promises';
import { errorText } from '#lib/errors';
import { type KubeObject, timeout, withMetadata } from '#lib/kube-semantics';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { ChangeHistory } from './change-history.js';
import {
  type ChangeLog,
  type ChangeRecord,
  DatabaseOwnedError,
  isConnectionFailure,
  type LoadedLog,
} from './change-log.js';
import type { JsonCipher } from './json-cipher.js';
import { type NamespaceQuota, NamespaceUsage, type QuotaUse } from './namespace-quota.js';
import { ObjectIndex } from './object-index.js';
import {
  checkObjectSize,
  CommittedObject,
  keyText,
  type ResourceKey,
  type StoredChange,
  type StoredObject,
} from './stored-object.js';
import { KeyLocks, type PendingWrite, WriteQueue, type WriteQueueLimits } from './write-queue.js';

/** Seals with the first key what a former one has sealed: current objects and past changes in one statement. */
async function reseal(
  loaded: LoadedLog,
  { log, cipher, logger }: { readonly log: ChangeLog; readonly cipher: JsonCipher; readonly logger: Logger },
): Promise<void> {
  if (!cipher.hasFormerKeys) return;
  const resealed = (records: readonly ChangeRecord[]): readonly ChangeRecord[] =>
    records.flatMap((record) => {
      const object = cipher.reseal(record, record.object);
      return object === undefined ? [] : [{ ...record, object }];
    });
  const [objects, changes] = [resealed(loaded.objects), resealed(loaded.changes)];
  if (objects.length + changes.length > 0) await log.replace(objects, changes);
  logger.info(
    { secrets: objects.length },
    'every Secret is sealed with the first key of encryption.key; the other keys can be removed from it',
  );
}

/** Decision of a writer after it has seen the committed state. */
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
  /** Limits for the writes that wait for the database. */
  readonly queueLimits?: Partial<WriteQueueLimits>;
}

const ANSWER_MS = 30_000;
/**
 * Showing a change to thousands of watches takes tens of milliseconds: between two, other requests are
 * served.
 */
const MAX_STRETCH_MS = 20;
const FORGET_EVERY_MS = 60_000;
const PAUSES = { firstMs: 50, longestMs: 1_000 };
const OWN_ATTEMPTS = 6;

/**
 * All objects: read from memory, written through to Postgres.
 *
 * Writers of one key are served one after the other, so each decides on the committed state. A decision gets
 * its revision, counts for its namespace, and is queued; one loop commits the queue, batch by batch in one
 * statement, and only then shows it to readers and watches. So the order of revisions is the order of
 * commits, for all kinds together; a write that is not committed after all leaves a gap. When the connection
 * breaks inside a commit, the newest revision in the database shows whether the batch was committed; if not,
 * the batch is written again.
 */
export class ObjectStore {
  readonly #index = new ObjectIndex();
  readonly #usage: NamespaceUsage;
  readonly #locks = new KeyLocks();
  readonly #listeners = new Set<(change: StoredChange) => void>();
  readonly #stopped = new AbortController();
  readonly history: ChangeHistory;
  readonly #queue: WriteQueue;
  #flushing: Promise<void> | undefined;
  #stopForgetting: () => void = () => undefined;
  #revision = 1;
  /** Newest revision that a write got, committed or not. */
  #assigned = 1;
  #compactedInLog = 0;

  constructor(private readonly options: ObjectStoreOptions) {
    this.history = new ChangeHistory(options);
    this.#usage = new NamespaceUsage(options.quota);
    this.#queue = new WriteQueue(options.queueLimits);
  }

  /** Newest committed revision. */
  get revision(): number {
    return this.#revision;
  }

  /** Takes the database and reads everything into memory. */
  async open(): Promise<void> {
    const { log, cipher } = this.options;
    await this.#own();
    const loaded = await log.load();
    await reseal(loaded, this.options);
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
      const newest = this.get(record);
      const after = newest?.revision === record.revision ? newest : readRecord(record, cipher);
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
    this.#assigned = this.#revision;
    this.#compactedInLog = (loaded.changes[0]?.revision ?? this.#revision + 1) - 1;
    this.history.restore(changes, this.#compactedInLog);
    for (const change of changes) if (this.get(change) !== change.after) setAside(change.after);
    this.#forgetRegularly();
  }

  /** Finishes what is queued and gives the database back. */
  async close(): Promise<void> {
    this.#stopped.abort(new Error('the API server is stopping'));
    this.#stopForgetting();
    await this.#flushing;
    await this.options.log.close();
  }

  get(key: ResourceKey): StoredObject | undefined {
    return this.#index.get(key.resource, key.namespace, key.name);
  }

  /** Objects in the order of namespace and name; of all namespaces when none is given. */
  list(resource: string, namespace?: string): readonly StoredObject[] {
    return this.#index.list(resource, namespace);
  }

  /** Limits of a namespace and their use; undefined for one without limits. */
  limitsOf(namespace: string): QuotaUse | undefined {
    return this.#usage.limitsOf(namespace);
  }

  /** Calls back for every committed change, in order; the result unsubscribes. */
  subscribe(listener: (change: StoredChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Lets `decide` look at the committed object and carries its decision out. Resolves, once committed, with
   * the new object, the last state of a deleted one, or the present one when it was kept. Errors of `decide`
   * are thrown. A dry run carries nothing out, answers the present object, and is refused like the write: for
   * its size, or for the usage of its namespace.
   * @throws ApiError 503 when too much waits for the database, 504 when it does not confirm the write in time
   */
  async change(
    key: ResourceKey,
    decide: (current: StoredObject | undefined) => Decision,
    { isDryRun = false }: { readonly isDryRun?: boolean } = {},
  ): Promise<StoredObject | undefined> {
    const late = new AbortController();
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const cancel = this.options.clock.after(ANSWER_MS, () => {
      const error = timeout('the database did not confirm the write in time; the write may still be applied');
      late.abort(error);
      reject(error);
    });
    try {
      const write = async () => this.#write(key, decide, { isDryRun, late: late.signal });
      return await Promise.race([this.#locks.hold(keyText(key), write, late.signal), tooLate]);
    } finally {
      cancel();
    }
  }

  /**
   *
   * @param late aborted when the caller does not wait for the answer any more: a write that is not being
   * committed by then never is
   */
  async #write(
    key: ResourceKey,
    decide: (current: StoredObject | undefined) => Decision,
    { isDryRun, late }: { readonly isDryRun: boolean; readonly late: AbortSignal },
  ): Promise<StoredObject | undefined> {
    const current = this.get(key);
    const decision = decide(current);
    if (decision.kind === 'keep') return current;
    const change = changeOf(key, current, decision, this.#assigned + 1);
    checkObjectSize(change);
    this.#usage.check(change);
    if (isDryRun) return current;
    const write: PendingWrite = { change, done: Promise.withResolvers<StoredObject>() };
    this.#queue.add(write);
    this.#usage.add(change);
    this.#assigned = change.after.revision;
    late.addEventListener('abort', () => this.#withdraw(write, late.reason), { once: true });
    this.#startFlush();
    return write.done.promise;
  }

  #withdraw(write: PendingWrite, reason: unknown): void {
    if (this.#queue.withdraw(write)) this.#refuse(write, reason);
  }

  /** Refuses a write that was not committed. */
  #refuse({ change, done }: PendingWrite, reason: unknown): void {
    this.#usage.takeBack(change);
    done.reject(reason);
  }

  #startFlush(): void {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      if (!this.#queue.isEmpty) this.#startFlush(); // queued between the loop's end and here
    });
  }

  async #flush(): Promise<void> {
    await Promise.resolve(); // writes in the same round of the event loop go into one batch
    while (!this.#queue.isEmpty) {
      const batch = this.#queue.take();
      try {
        await this.#commit(batch.map(({ change }) => this.#record(change)));
      } catch (error) {
        for (const write of batch) this.#refuse(write, error);
        continue;
      } finally {
        this.#queue.settled(batch);
      }
      await this.#show(batch);
      await this.#compactLog();
    }
  }

  /** Shows a batch to readers and watches, in the order of revisions. */
  async #show(batch: readonly PendingWrite[]): Promise<void> {
    const { clock } = this.options;
    let sinceMs = clock.monotonicMs();
    for (const { change, done } of batch) {
      if (clock.monotonicMs() - sinceMs >= MAX_STRETCH_MS) {
        await setImmediate();
        sinceMs = clock.monotonicMs();
      }
      this.#revision = change.after.revision;
      this.#index.apply(change);
      this.history.add(change);
      this.#publish(change);
      setAside(change.before);
      if (change.type === 'DELETED') setAside(change.after);
      done.resolve(change.after);
    }
  }

  /** A watcher that fails must not end the loop: every later write would hang. */
  #publish(change: StoredChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        const { resource, namespace, name } = change;
        this.options.logger.error(
          { resource, namespace, name, err: error },
          'publishing a change to watches failed',
        );
      }
    }
  }

  async #commit(batch: readonly ChangeRecord[]): Promise<void> {
    const { log, logger } = this.options;
    const [first, last] = [batch[0]?.revision ?? 0, batch.at(-1)?.revision ?? 0];
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
        if (committed >= first)
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
        return await this.options.log.open();
      } catch (error) {
        if (!(error instanceof DatabaseOwnedError) || backoff.failures >= OWN_ATTEMPTS) throw error;
      }
      await backoff.pause(this.#stopped.signal);
    }
  }

  #backoff(): Backoff {
    return new Backoff(this.options.clock, PAUSES);
  }

  #forgetRegularly(): void {
    this.#stopForgetting = this.options.clock.after(FORGET_EVERY_MS, () => {
      this.history.forgetOld();
      void this.#rest();
      // while something is written its loop does it
      if (!this.#flushing) void this.#compactLog();
      this.#forgetRegularly();
    });
  }

  /** Packs what nobody reads, in stretches between which requests are served. */
  async #rest(): Promise<void> {
    const { clock } = this.options;
    let sinceMs = clock.monotonicMs();
    for (const _ of this.#index.rest()) {
      if (clock.monotonicMs() - sinceMs < MAX_STRETCH_MS) continue;
      await setImmediate();
      sinceMs = clock.monotonicMs();
    }
  }

  async #compactLog(): Promise<void> {
    const compacted = this.history.compacted;
    if (compacted === this.#compactedInLog) return;
    try {
      await this.options.log.compact(compacted);
      this.#compactedInLog = compacted;
    } catch (error) {
      this.options.logger.warn(
        { error: errorText(error) },
        'compacting the change log failed, retrying later',
      );
    }
  }

  #record(change: StoredChange): ChangeRecord {
    const { type, resource, namespace, name, after } = change;
    const object = this.options.cipher.seal(change, after.json);
    return { type, resource, namespace, name, revision: after.revision, object };
  }
}

function changeOf(
  key: ResourceKey,
  before: StoredObject | undefined,
  decision: Exclude<Decision, { kind: 'keep' }>,
  revision: number,
): StoredChange {
  const object = withMetadata(decision.object, { resourceVersion: String(revision) });
  const after = new CommittedObject(JSON.stringify(object), revision, object);
  const type = decision.kind === 'delete' ? 'DELETED' : before ? 'MODIFIED' : 'ADDED';
  return { type, ...key, after, before };
}

function readRecord(record: ChangeRecord, cipher: JsonCipher): StoredObject {
  return new CommittedObject(cipher.open(record, record.object), record.revision);
}

/** Releases the parsed form of a replaced object: only watches that resume read it. */
function setAside(stored: StoredObject | undefined): void {
  if (stored instanceof CommittedObject) stored.replaced();
}
