import { Admission, type Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { ApiError } from '#lib/kube-semantics';
import { lettersOf, type StoredChange, type StoredObject } from './stored-object.js';

/** Lets the holders of one key go one after another; different keys do not wait for each other. */
export class KeyLocks {
  /** Waiters for each key that is held. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /**
   *
   * @param abandoned a caller that still waits for the key is rejected with its reason, and holds no memory
   * any more
   */
  async hold<T>(key: string, work: () => Promise<T>, abandoned?: AbortSignal): Promise<T> {
    const others = this.#waiting.get(key);
    if (others) await turnAmong(others, abandoned);
    else this.#waiting.set(key, new Set());
    try {
      return await work();
    } finally {
      this.#passOn(key);
    }
  }

  #passOn(key: string): void {
    const others = this.#waiting.get(key);
    const [next] = others ?? [];
    if (!others || !next) return void this.#waiting.delete(key);
    others.delete(next);
    next();
  }
}

function turnAmong(others: Set<() => void>, abandoned: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  others.add(resolve);
  abandoned?.addEventListener('abort', () => void (others.delete(resolve) && reject(abandoned.reason)), {
    once: true,
  });
  return promise;
}

/** A decided write that waits for the database. */
export interface PendingWrite {
  readonly change: StoredChange;
  readonly done: PromiseWithResolvers<StoredObject>;
}

export interface WriteQueueLimits {
  /** Letters of all writes that wait or are being committed: of one namespace at most half, of the next a half of the rest. */
  readonly letters: number;
  readonly batchWrites: number;
  /** One write may be larger. */
  readonly batchLetters: number;
}

const LIMITS: WriteQueueLimits = {
  letters: 32 * 1024 * 1024,
  batchWrites: 256,
  batchLetters: 8 * 1024 * 1024,
};

/**
 * Writes that wait for the database, in the order in which they were decided. While it is unavailable they
 * would fill the memory: a namespace whose writes use up its share is refused more, and a write that was not
 * answered in time is dropped.
 */
export class WriteQueue {
  readonly #limits: WriteQueueLimits;
  readonly #budget: Admission;
  readonly #waiting = new Set<PendingWrite>();
  readonly #accounts = new Map<PendingWrite, Place>();

  constructor(limits: Partial<WriteQueueLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
    this.#budget = new Admission({
      capacity: this.#limits.letters,
      halves: true,
      refusal: 'the queue of writes is full',
    });
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Letters of all writes that are not settled. */
  get letters(): number {
    return this.#budget.held;
  }

  /** @throws ApiError 503 when the writes that wait fill the memory there is for them */
  add(write: PendingWrite): void {
    const { namespace, after } = write.change;
    const account = this.#budget.open(namespace);
    try {
      account.hold(lettersOf(after));
    } catch (error) {
      if (!(error instanceof PublicError)) throw error;
      throw new ApiError(
        503,
        'ServiceUnavailable',
        `the database has not confirmed earlier writes${namespace === '' ? '' : ` to namespace ${namespace}`}, ` +
          'which fill the memory for writes that wait; retry later',
        { retryAfterSeconds: 1 },
      );
    }
    this.#accounts.set(write, account);
    this.#waiting.add(write);
  }

  /** The next writes to be committed together; they are counted until they are settled. */
  take(): readonly PendingWrite[] {
    const batch: PendingWrite[] = [];
    let letters = 0;
    for (const write of this.#waiting) {
      letters += lettersOf(write.change.after);
      if (batch.length > 0 && letters > this.#limits.batchLetters) break;
      this.#waiting.delete(write);
      if (batch.push(write) === this.#limits.batchWrites) break;
    }
    return batch;
  }

  /** Takes a write back that is not being committed yet; false when it is. */
  withdraw(write: PendingWrite): boolean {
    if (!this.#waiting.delete(write)) return false;
    this.settled([write]);
    return true;
  }

  /** Writes that were committed or refused. */
  settled(writes: readonly PendingWrite[]): void {
    for (const write of writes) {
      this.#accounts.get(write)?.keep(0);
      this.#accounts.delete(write);
    }
  }
}
