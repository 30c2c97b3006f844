import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { RunResult } from '../log/event-log.js';
import { earlier, isAfter, isNext, type Position } from '../log/position.js';
import { findLastEvent } from '../store/event/find-last-event.js';
import { readRunEvents } from '../store/event/read-run-events.js';
import { watchRun } from '../store/event/watch-run.js';
import { END, type StoredEvent } from '../store/row/run-event-row.js';
import { listRunStates, type RunState } from '../store/run/list-run-states.js';
import type { ServerIdentity } from '../store/server-identity.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { RunLog, RunLogs } from './run-logs.js';
import { runResult } from './run-result.js';
import type { Followed } from './worker.js';

/** Milliseconds between two looks; a notification makes it look at once. */
const POLL_MS = 500;

/** Looks that must find a run ended, or a gap in its output, before what is missing counts as lost. */
const LOOKS_BEFORE_GIVING_UP = 4;

/** Bytes of one look. */
const PAGE_BYTES = 4 * 1024 * 1024;

interface Place {
  readonly log: RunLog;
  /** Output from somewhere on will do: the reader asked for what is kept. */
  readonly mayBeginLater: boolean;
  /** It is known where to begin, and the server at work was asked. */
  isReady: boolean;
  looksAfterEnd: number;
  looksAtGap: number;
}

interface FollowOptions {
  /** The server at work knows of the readers here. */
  readonly isMarked?: boolean;
  readonly mayBeginLater?: boolean;
  /** Where the reader stands that is the first here. */
  readonly wanted?: Position | undefined;
}

export interface RunFollowerParts {
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly logs: RunLogs;
  readonly clock: Clock;
  readonly log: Logger;
}

const REMOVED: RunResult = {
  body: JSON.stringify({
    __error__: { error: 'RunGone', message: 'The run was removed; its output was not kept' },
  }),
  lacksOutput: true,
};

/**
 * Fills the logs here of runs that wait or are at work at another server, which writes their output to the database for
 * as long as somebody follows. Positions count without gaps, so what was lost on the way is noticed and asked for again.
 */
export class RunFollower implements Followed {
  readonly #places = new Map<string, Place>();
  #isLooking = false;
  #shouldLookAgain = false;
  #isStopped = false;
  #cancel: (() => void) | undefined;

  constructor(private readonly parts: RunFollowerParts) {}

  /** Goes on after the log's last event; where that is not known, with what comes from now on. */
  follow(log: RunLog, { isMarked = false, mayBeginLater = false, wanted }: FollowOptions = {}): void {
    if (this.#places.has(log.runId)) return;
    const place: Place = { log, mayBeginLater, isReady: isMarked, looksAfterEnd: 0, looksAtGap: 0 };
    this.#places.set(log.runId, place);
    if (!isMarked) void this.#prepare(place, wanted);
    if (!this.#cancel) this.#schedule();
  }

  /** Answers whether the run was followed. */
  unfollow(runId: string): boolean {
    return this.#places.delete(runId);
  }

  follows(runId: string): boolean {
    return this.#places.has(runId);
  }

  /** Asks the server that has the run for its output, and for what came after a position. */
  async ask(runId: string, after: Position | undefined): Promise<void> {
    const { sql, server, log } = this.parts;
    await watchRun(WORKER, sql, server, runId, after).catch((error: unknown) =>
      log.warn({ run_id: runId, error: errorText(error) }, 'asking for the output of a run failed'),
    );
  }

  /** A run may have new output; without an id, any run. */
  wake(runId: string): void {
    if (runId === '' || this.#places.has(runId)) this.#look(false);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  /** The server at work answered where the output stands. A log that has not begun begins there. */
  standsAt(runId: string, position: Position): void {
    const { events } = this.#places.get(runId)?.log ?? {};
    if (events && !events.last) events.restart(position);
  }

  /**
   * Where a log begins is never what a client named, but what servers wrote or answer; readers that stand before it
   * catch up by themselves, and one that stands beyond it harms nobody else.
   */
  async #prepare(place: Place, wanted: Position | undefined): Promise<void> {
    const { runId, events } = place.log;
    try {
      if (!events.last) {
        const last = await findLastEvent(WORKER, this.parts.sql, runId);
        if (last && !events.last) events.restart(last);
      }
    } catch (error) {
      this.parts.log.warn({ run_id: runId, error: errorText(error) }, 'reading relayed output failed');
    }
    const { last } = events;
    await this.ask(runId, wanted && last ? earlier(wanted, last) : (wanted ?? last));
    place.isReady = true;
    this.#look(false);
  }

  #schedule(): void {
    this.#cancel = this.parts.clock.after(POLL_MS, () => {
      this.#cancel = undefined;
      if (this.#isStopped || this.#places.size === 0) return;
      this.#look(true);
      this.#schedule();
    });
  }

  #look(isTimed: boolean): void {
    if (this.#isLooking) {
      this.#shouldLookAgain = true;
      return;
    }
    this.#isLooking = true;
    this.#readAll(isTimed)
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

  async #readAll(isTimed: boolean): Promise<void> {
    for (const [runId, { log }] of this.#places)
      if (log.events.readers === 0 && !log.events.isAwaited) {
        this.#places.delete(runId);
        this.parts.logs.release(log);
      }
    if (this.#places.size === 0) return;
    const ready = [...this.#places].filter(([, place]) => place.isReady);
    const cursors = ready.map(([runId, { log }]) => ({ runId, after: log.events.last }));
    const found = await readRunEvents(WORKER, this.parts.sql, cursors, PAGE_BYTES);
    const gaps = new Set<Place>();
    let hasMore = false;
    for (const event of found) {
      const place = this.#places.get(event.runId);
      if (!place) continue; // the run is at work here by now
      if (this.#deliver(place, event)) hasMore = true;
      else gaps.add(place);
    }
    if (isTimed) for (const place of gaps) await this.#missing(place, found);
    if (hasMore) this.#shouldLookAgain = true;
    else if (isTimed && this.#places.size > 0) await this.#readRows();
  }

  /** Answers whether the event is the next one, or an old one. */
  #deliver(place: Place, { runId, position, event, data }: StoredEvent): boolean {
    const { events } = place.log;
    const { last } = events;
    if (last && !isAfter(position, last)) return true;
    if (last && !isNext(position, last)) {
      if (!place.mayBeginLater || events.bytes > 0) return false;
      events.restart({ ...position, n: position.n - 1 });
    }
    place.looksAtGap = 0;
    if (event === END) {
      // readers that stand before it have something to catch up with
      if (!last && position.n > 0) events.restart({ ...position, n: position.n - 1 });
      this.#places.delete(runId);
      this.parts.logs.end(runId, { body: data });
    } else if (position.n === 0) events.open(position.attempt, { event, data });
    else events.append({ event, data }, position);
    return true;
  }

  /** Something between what is here and what comes next did not arrive: asked for, and waited for in vain. */
  async #missing(place: Place, found: readonly StoredEvent[]): Promise<void> {
    const { runId, events } = place.log;
    if (++place.looksAtGap < LOOKS_BEFORE_GIVING_UP) return this.ask(runId, events.last);
    const { last } = events;
    const next = found.find((event) => event.runId === runId && (!last || isAfter(event.position, last)));
    if (next) events.restart({ ...next.position, n: next.position.n - 1 });
    this.#shouldLookAgain = true;
  }

  /** The rows decide when events are lost: a run that has ended ends its readers too. */
  async #readRows(): Promise<void> {
    const { sql, logs } = this.parts;
    const states = await listRunStates(WORKER, sql, [...this.#places.keys()]);
    const found = new Map(states.map((state) => [state.runId, state]));
    for (const [runId, place] of this.#places) {
      const state = found.get(runId);
      if (state && !state.hasEnded) continue;
      // its server may keep what it made a little longer than the run
      if (place.looksAfterEnd === 0) await this.ask(runId, place.log.events.last);
      if (++place.looksAfterEnd < LOOKS_BEFORE_GIVING_UP) continue;
      this.#places.delete(runId);
      logs.end(runId, state ? await this.#resultOf(state) : REMOVED);
    }
  }

  async #resultOf(state: RunState): Promise<RunResult> {
    const result = await runResult(WORKER, this.parts.sql, state);
    return state.attempt === 0 ? result : { ...result, lacksOutput: true };
  }
}
