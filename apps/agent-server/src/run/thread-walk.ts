import { errorText, PublicError } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import type { ReadFrom } from '../log/log-cursor.js';
import type { LoggedEvent } from '../log/logged-event.js';
import type { ThreadRun } from '../store/run/runs.js';
import type { Scope } from '../store/scope.js';
import type { Reading } from './run-reading.js';
import type { RunOutputs } from './run-outputs.js';
import type { ThreadWatch } from './thread-watch.js';

/** Runs that are queued here; the rest stays in the database. */
const MAX_WAITING = 1_000;

/** Runs that are opened ahead of the walk. */
const MAX_AHEAD = 32;

const PAUSES = { firstMs: 250, longestMs: 10_000 };

export interface ThreadWalkParts {
  readonly outputs: Pick<RunOutputs, 'read'>;
  readonly watch: Pick<ThreadWatch, 'follow'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Some runs of a thread, in the order in which they were made. */
export interface ThreadRunPage {
  readonly runs: readonly ThreadRun[];
  /** Start of the next page. */
  readonly next: number;
  /** True when there was no further run when it was read. */
  readonly isLast: boolean;
}

/** Order and start of a walk through a thread. */
export interface ThreadWay {
  readonly scope: Scope;
  readonly threadId: string;
  /** Place of the first run. */
  readonly from: number;
  /** A page of runs from a place on. */
  readonly list: (from: number) => Promise<ThreadRunPage>;
  /** Start of reading a run's output; undefined when only its end is known. */
  readonly beginningOf: (run: ThreadRun) => ReadFrom | undefined;
  /** The next runs are opened ahead of the walk: their output is not kept for readers that come later. */
  readonly readsAhead: boolean;
}

/** Step of a walk. */
export type ThreadStep =
  | { readonly kind: 'event'; readonly run: ThreadRun; readonly event: LoggedEvent }
  /** `isLost`: the rest of its output is kept nowhere any more. */
  | { readonly kind: 'end'; readonly run: ThreadRun; readonly isLost: boolean };

interface Entry {
  readonly run: ThreadRun;
  isOpen: boolean;
  reading: Reading | undefined;
  stop: (() => void) | undefined;
}

/**
 * One reader of the output of a thread: run after run, including future ones, until it is closed. A run is
 * left out only when it was removed; while the database is unavailable the walk pauses.
 */
export class ThreadWalk {
  readonly #unfollow: () => void;
  readonly #backoff: Backoff;
  readonly #entries: Entry[] = [];
  #nextOrdinal: number;
  #shouldList = true;
  #isWorking = false;
  #isClosed = false;
  #cancelRetry: (() => void) | undefined;

  constructor(
    private readonly way: ThreadWay,
    private readonly onMore: () => void,
    private readonly parts: ThreadWalkParts,
  ) {
    this.#nextOrdinal = way.from;
    this.#backoff = new Backoff(parts.clock, PAUSES);
    this.#unfollow = parts.watch.follow(way.threadId, () => {
      this.#shouldList = true;
      this.#work();
    });
  }

  /** Begins to look for runs. */
  begin(): void {
    this.#work();
  }

  /** The same, resolved once the existing runs have been found. @throws error that prevents finding them */
  async beginNow(): Promise<void> {
    this.#isWorking = true;
    try {
      await this.#advance();
    } finally {
      this.#isWorking = false;
    }
    if (this.#hasWork) this.#work();
  }

  /** The next step, if there is one now. */
  take(): ThreadStep | undefined {
    const [entry] = this.#entries;
    if (!entry?.isOpen) return undefined;
    const { run, reading } = entry;
    const event = reading?.take();
    if (event) return { kind: 'event', run, event };
    if (reading?.state === 'waiting') return undefined;
    const isLost = reading?.state === 'lost';
    entry.stop?.();
    this.#entries.shift();
    this.#work();
    return { kind: 'end', run, isLost };
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#unfollow();
    for (const { stop } of this.#entries.splice(0)) stop?.();
  }

  get #unopened(): Entry | undefined {
    const near = this.#entries.slice(0, this.way.readsAhead ? MAX_AHEAD : 1);
    return near.find(({ isOpen }) => !isOpen);
  }

  get #hasWork(): boolean {
    const mayList = this.#shouldList && this.#entries.length < MAX_WAITING;
    return !this.#isClosed && (mayList || this.#unopened !== undefined);
  }

  #work(): void {
    if (this.#isWorking || this.#cancelRetry || !this.#hasWork) return;
    this.#isWorking = true;
    this.#advance()
      .then(
        () => this.#backoff.reset(),
        (error: unknown) => this.#retryLater(error),
      )
      .finally(() => {
        this.#isWorking = false;
        this.#work();
      });
  }

  #retryLater(error: unknown): void {
    if (this.#isClosed) return;
    const retryMs = Math.round(this.#backoff.nextMs());
    const { threadId } = this.way;
    this.parts.log.warn(
      { threadId, runId: this.#unopened?.run.runId, retryMs, error: errorText(error) },
      'following a thread failed; retrying',
    );
    this.#cancelRetry = this.parts.clock.after(retryMs, () => {
      this.#cancelRetry = undefined;
      this.#work();
    });
  }

  async #advance(): Promise<void> {
    while (this.#hasWork) {
      const entry = this.#unopened;
      if (entry) await this.#open(entry);
      else await this.#list();
    }
  }

  async #list(): Promise<void> {
    this.#shouldList = false;
    try {
      const { runs, next, isLast } = await this.way.list(this.#nextOrdinal);
      if (this.#isClosed) return;
      this.#nextOrdinal = next;
      this.#shouldList ||= !isLast;
      for (const run of runs) this.#entries.push({ run, isOpen: false, reading: undefined, stop: undefined });
    } catch (error) {
      this.#shouldList = true;
      throw error;
    }
  }

  async #open(entry: Entry): Promise<void> {
    const from = this.way.beginningOf(entry.run);
    const isThere = !from || (await this.#read(entry, from));
    if (this.#isClosed) return entry.stop?.();
    if (!isThere) this.#entries.splice(this.#entries.indexOf(entry), 1);
    entry.isOpen = true;
    this.onMore();
  }

  /** Answers true when there is such a run. */
  async #read(entry: Entry, from: ReadFrom): Promise<boolean> {
    const { scope, threadId } = this.way;
    const { runId } = entry.run;
    const attach = (reading: Reading): void => void (entry.reading = reading);
    const reader = { kind: 'output' as const, attach, more: this.onMore };
    try {
      entry.stop = await this.parts.outputs.read(scope, runId, threadId, reader, from);
      return true;
    } catch (error) {
      if (!(error instanceof PublicError) || error.code !== 'not_found') throw error;
      this.parts.log.debug({ threadId, runId }, 'run of a followed thread was removed');
      return false;
    }
  }
}
