import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { END, type RunEvents, type StoredEvent } from '../store/run-events.js';
import { ENDED, type RunRecord, type RunRecords } from '../store/run-records.js';
import type { Threads } from '../store/threads.js';
import type { RunFeeds, RunResult } from './run-feed.js';
import type { Followed } from './worker.js';

/** Milliseconds between two looks; a notification makes it look at once. */
const POLL_MS = 500;

/** Looks that must find a run ended before its last events count as lost. */
const LOOKS_BEFORE_GIVING_UP = 3;

interface Place {
  after: bigint;
  looksAfterEnd: number;
}

export interface RunFollowerParts {
  readonly events: RunEvents;
  readonly records: RunRecords;
  readonly threads: Threads;
  readonly feeds: RunFeeds;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What a waiter gets of a run that has ended: its error, or the values of its thread. */
export async function resultOf(record: RunRecord, threads: Threads): Promise<RunResult> {
  if (record.error) return { body: JSON.stringify({ __error__: record.error }) };
  const thread = await threads.find(record.wire.thread_id);
  return { body: JSON.stringify(thread?.values ?? null) };
}

const GONE: RunResult = {
  body: JSON.stringify({
    __error__: { error: 'RunGone', message: 'The run is gone; its output was not kept' },
  }),
};

/** Feeds readers here with the output of runs that wait or are at work at another server. */
export class RunFollower implements Followed {
  readonly #places = new Map<string, Place>();
  #isLooking = false;
  #shouldLookAgain = false;
  #isStopped = false;
  #cancel: (() => void) | undefined;

  constructor(private readonly parts: RunFollowerParts) {}

  follow(runId: string, isMarked = false): void {
    if (this.#places.has(runId)) return;
    this.#places.set(runId, { after: 0n, looksAfterEnd: 0 });
    if (!isMarked)
      this.parts.events
        .watch(runId)
        .catch((error: unknown) =>
          this.parts.log.warn({ runId, error: errorText(error) }, 'a run is not watched'),
        );
    if (!this.#cancel) this.#schedule();
  }

  unfollow(runId: string): void {
    this.#places.delete(runId);
  }

  /** There is news of a run. */
  wake(runId: string): void {
    if (runId === '' || this.#places.has(runId)) this.#look(false);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #schedule(): void {
    this.#cancel = this.parts.clock.after(POLL_MS, () => {
      this.#cancel = undefined;
      if (this.#isStopped || this.#places.size === 0) return;
      this.#look(true);
      this.#schedule();
    });
  }

  #look(alsoRows: boolean): void {
    if (this.#isLooking) {
      this.#shouldLookAgain = true;
      return;
    }
    this.#isLooking = true;
    this.#readAll(alsoRows)
      .catch((error: unknown) =>
        this.parts.log.warn({ error: errorText(error) }, 'relayed output could not be read'),
      )
      .finally(() => {
        this.#isLooking = false;
        if (!this.#shouldLookAgain) return;
        this.#shouldLookAgain = false;
        this.#look(false);
      });
  }

  async #readAll(alsoRows: boolean): Promise<void> {
    for (const runId of [...this.#places.keys()])
      if (!this.parts.feeds.find(runId)?.hasReaders) {
        this.#places.delete(runId);
        this.parts.feeds.close(runId);
      }
    if (this.#places.size === 0) return;
    const cursors = [...this.#places].map(([runId, place]) => ({ runId, after: place.after }));
    for (const event of await this.parts.events.read(cursors)) this.#deliver(event);
    if (alsoRows && this.#places.size > 0) await this.#readRows();
  }

  #deliver(event: StoredEvent): void {
    const place = this.#places.get(event.runId);
    if (!place || event.ordinal <= place.after) return; // it came home meanwhile
    place.after = event.ordinal;
    const { feeds } = this.parts;
    if (event.event === END) {
      this.#places.delete(event.runId);
      feeds.end(event.runId, { body: event.data });
    } else if (event.event === 'metadata') {
      const { attempt } = JSON.parse(event.data) as { attempt: number };
      feeds.find(event.runId)?.open(attempt);
    } else feeds.find(event.runId)?.publish({ event: event.event, data: event.data });
  }

  /** The rows decide when events are lost: a run that has ended ends its readers too. */
  async #readRows(): Promise<void> {
    const { records, feeds, threads } = this.parts;
    const found = new Map(
      (await records.listByIds([...this.#places.keys()])).map((one) => [one.wire.run_id, one]),
    );
    for (const [runId, place] of this.#places) {
      const record = found.get(runId);
      if (record && !ENDED.includes(record.wire.status)) {
        if (record.wire.status === 'running') feeds.find(runId)?.open(record.attempt);
        continue;
      }
      if (++place.looksAfterEnd < LOOKS_BEFORE_GIVING_UP) continue;
      this.#places.delete(runId);
      feeds.end(runId, record ? await resultOf(record, threads) : GONE);
    }
  }
}
