import { errorText } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { readRunEvents } from '../store/event/read-run-events.js';
import { watchRun } from '../store/event/watch-run.js';
import { END, type StoredEvent } from '../store/row/run-event-row.js';
import { hasEnded } from '../store/row/run-row.js';
import { listRunsByIds } from '../store/run/list-runs-by-ids.js';
import type { ServerIdentity } from '../store/server-identity.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { RunFeeds, RunResult } from './run-feed.js';
import { runResult } from './run-result.js';
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
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly feeds: RunFeeds;
  readonly clock: Clock;
  readonly log: Logger;
}

const REMOVED: RunResult = {
  body: JSON.stringify({
    __error__: { error: 'RunGone', message: 'The run was removed; its output was not kept' },
  }),
};

/** The attempt that a relayed `metadata` event names. */
function attemptOf({ data }: StoredEvent): number {
  const named: unknown = JSON.parse(data);
  return isJsonObject(named) ? Number(named['attempt']) : 0;
}

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
    if (!isMarked) {
      const { sql, server, log } = this.parts;
      watchRun(WORKER, sql, server, runId).catch((error: unknown) =>
        log.warn({ runId, error: errorText(error) }, 'asking for the output of a run failed'),
      );
    }
    if (!this.#cancel) this.#schedule();
  }

  unfollow(runId: string): void {
    this.#places.delete(runId);
  }

  /** A run may have new output; without an id, any run. */
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
        this.parts.log.warn({ error: errorText(error) }, 'reading relayed output failed'),
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
    for (const event of await readRunEvents(WORKER, this.parts.sql, cursors)) this.#deliver(event);
    if (alsoRows && this.#places.size > 0) await this.#readRows();
  }

  #deliver(event: StoredEvent): void {
    const place = this.#places.get(event.runId);
    if (!place || event.ordinal <= place.after) return; // the run is at work here by now
    place.after = event.ordinal;
    const { feeds } = this.parts;
    if (event.event === END) {
      this.#places.delete(event.runId);
      feeds.end(event.runId, { body: event.data });
    } else if (event.event === 'metadata') feeds.find(event.runId)?.open(attemptOf(event));
    else feeds.find(event.runId)?.publish({ event: event.event, data: event.data });
  }

  /** The rows decide when events are lost: a run that has ended ends its readers too. */
  async #readRows(): Promise<void> {
    const { sql, feeds } = this.parts;
    const records = await listRunsByIds(WORKER, sql, [...this.#places.keys()]);
    const found = new Map(records.map((record) => [record.wire.run_id, record]));
    for (const [runId, place] of this.#places) {
      const record = found.get(runId);
      if (record && !hasEnded(record)) {
        if (record.wire.status === 'running') feeds.find(runId)?.open(record.attempt);
        continue;
      }
      if (++place.looksAfterEnd < LOOKS_BEFORE_GIVING_UP) continue;
      this.#places.delete(runId);
      feeds.end(runId, record ? await runResult(WORKER, sql, record) : REMOVED);
    }
  }
}
