import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { listNewestPlaces } from '../store/statement/runs.js';
import { notifyThreads } from '../store/statement/run-events.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

/** Milliseconds between two polls of all followed threads together; a notification comes sooner. */
const LOOK_MS = 10_000;

interface Followed {
  readonly wakes: Set<() => void>;
  /** Place of the newest run at the last look. */
  newest: number | undefined;
}

export interface ThreadWatchParts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Threads followed at this server, with the readers to inform of their new runs. Servers notify one another;
 * lost notifications are made up for by one statement for all followed threads, however many readers there
 * are.
 */
export class ThreadWatch {
  readonly #followed = new Map<string, Followed>();
  readonly #unannounced = new Set<string>();
  #isAnnouncing = false;
  #isLooking = false;
  #cancelLook: (() => void) | undefined;

  constructor(private readonly parts: ThreadWatchParts) {}

  /** Calls `wake` whenever the thread may have a new run. Answers a function that ends it. */
  follow(threadId: string, wake: () => void): () => void {
    const followed = this.#followed.get(threadId) ?? { wakes: new Set(), newest: undefined };
    this.#followed.set(threadId, followed);
    followed.wakes.add(wake);
    this.#lookLater();
    return () => {
      followed.wakes.delete(wake);
      if (followed.wakes.size === 0 && this.#followed.get(threadId) === followed)
        this.#followed.delete(threadId);
    };
  }

  follows(threadId: string): boolean {
    return this.#followed.has(threadId);
  }

  /** A run was made here: its readers learn of it, at other servers too. */
  announce(threadId: string): void {
    this.wake(threadId);
    this.#unannounced.add(threadId);
    void this.#announceAll();
  }

  /** Another server made a run; without an id, any may have made one, on any thread. */
  wake(threadId: string): void {
    if (threadId === '') return void this.#look();
    for (const wake of this.#followed.get(threadId)?.wakes ?? []) wake();
  }

  /** One statement at a time: under load each carries many threads. */
  async #announceAll(): Promise<void> {
    if (this.#isAnnouncing) return;
    this.#isAnnouncing = true;
    while (this.#unannounced.size > 0) {
      const threadIds = [...this.#unannounced];
      this.#unannounced.clear();
      // a hint: the looks of other servers find the runs too
      await notifyThreads(WORKER, this.parts.sql, threadIds).catch((error: unknown) =>
        this.parts.log.debug({ error: errorText(error) }, 'telling other servers of new runs failed'),
      );
    }
    this.#isAnnouncing = false;
  }

  #lookLater(): void {
    this.#cancelLook ??= this.parts.clock.after(LOOK_MS, () => {
      this.#cancelLook = undefined;
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#followed.size === 0) return;
    this.#isLooking = true;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    try {
      const places = await listNewestPlaces(WORKER, this.parts.sql, [...this.#followed.keys()]);
      for (const [threadId, ordinal] of places) this.#seen(threadId, ordinal);
    } catch (error) {
      this.parts.log.warn(
        { threads: this.#followed.size, retryMs: LOOK_MS, error: errorText(error) },
        'looking for new runs of followed threads failed; retrying',
      );
    } finally {
      this.#isLooking = false;
      if (this.#followed.size > 0) this.#lookLater();
    }
  }

  #seen(threadId: string, ordinal: number): void {
    const followed = this.#followed.get(threadId);
    if (!followed || followed.newest === ordinal) return;
    followed.newest = ordinal;
    for (const wake of followed.wakes) wake();
  }
}
