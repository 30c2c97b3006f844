import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { RunResult } from '../log/event-log.js';
import {
  BEGINNING,
  earlier,
  isAfter,
  isNext,
  type Position,
  END,
  type StoredEvent,
} from '../log/logged-event.js';
import { findLastEvent, readRunEvents, watchRun } from '../store/statement/run-events.js';
import { listRunStates, type RunState } from '../store/statement/runs.js';
import type { ServerIdentity } from '../store/row/claimed-run.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { RunLog, RunLogs } from './run-logs.js';
import { runResult } from './run-result.js';
import type { Followed } from './worker.js';

/** Limit per run; output beyond it is dropped and requested again once the reader reaches it. */
const MAX_CHARS = 4 * 1024 * 1024;

/** Live output of a run that arrived before the events preceding it: these come through the database. */
class EarlyOutput {
  #events: StoredEvent[] = [];
  #chars = 0;

  /** The oldest. */
  get first(): StoredEvent | undefined {
    return this.#events[0];
  }

  add(event: StoredEvent): void {
    if (this.#chars > MAX_CHARS) return;
    this.#chars += event.data.length;
    this.#events.push(event);
  }

  /** Next event after a position, if it is here. Forgets the events that the position includes. */
  takeNext(last: Position | undefined): StoredEvent | undefined {
    if (last) while (this.first && !isAfter(this.first.position, last)) this.#shift();
    const { first } = this;
    if (!first) return undefined;
    const isItsTurn = last ? isNext(first.position, last) : first.position.n === 0;
    return isItsTurn ? this.#shift() : undefined;
  }

  #shift(): StoredEvent | undefined {
    const event = this.#events.shift();
    this.#chars -= event?.data.length ?? 0;
    return event;
  }
}

/** Milliseconds between two polls; a notification makes it poll at once. */
const POLL_MS = 500;

/** Polls that must find a run ended, or a gap in its output, before the missing output counts as lost. */
const LOOKS_BEFORE_GIVING_UP = 4;

/** Time for the server of a run to report the position of its output, before the database is read. */
const ANSWER_MS = 1_000;

/** Bytes of one look. */
const PAGE_BYTES = 4 * 1024 * 1024;

interface Place {
  readonly log: RunLog;
  /** True when output from a later position is fine: the reader asked for everything that is kept. */
  readonly mayBeginLater: boolean;
  /** True once the start is known and the executing server was asked. */
  isReady: boolean;
  /** Called when the position of the output is known; undefined when no reader waits for that. */
  begun: (() => void) | undefined;
  readonly early: EarlyOutput;
  looksAfterEnd: number;
  looksAtGap: number;
}

interface FollowOptions {
  /** True when the executing server knows of the readers here. */
  readonly isMarked?: boolean;
  readonly mayBeginLater?: boolean;
  /** Position of the first reader on this server. */
  readonly wanted?: Position | undefined;
  /** True when the run is in progress and its reader takes output from now on. */
  readonly isFromNow?: boolean;
}

export interface RunFollowerParts {
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly logs: RunLogs;
  /** True when output also arrives as it is made, separately: see `receive`. */
  readonly isLive?: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

const REMOVED: RunResult = {
  body: JSON.stringify({
    __error__: { error: 'RunGone', message: 'The run was removed; its output was not kept' },
  }),
  lacksOutput: true,
};

function before({ attempt, n }: Position): Position {
  return { attempt, n: n - 1 };
}

/**
 * Fills the logs here of runs that are pending or in progress at another server, which sends their output, or
 * writes it to the database, as long as a reader follows. Positions count without gaps, so output that is
 * lost on the way is noticed and requested again; repeated output comes through the database.
 */
export class RunFollower implements Followed {
  readonly #places = new Map<string, Place>();
  #isLooking = false;
  #shouldLookAgain = false;
  #isStopped = false;
  #cancel: (() => void) | undefined;

  constructor(private readonly parts: RunFollowerParts) {}

  /** Continues after the log's last event; when that is not known, with output from now on. */
  follow(
    log: RunLog,
    { isMarked = false, mayBeginLater = false, wanted, isFromNow }: FollowOptions = {},
  ): void {
    if (this.#places.has(log.runId)) return;
    const looks = { looksAfterEnd: 0, looksAtGap: 0 };
    const early = new EarlyOutput();
    const place: Place = { log, mayBeginLater, isReady: isMarked, begun: undefined, early, ...looks };
    this.#places.set(log.runId, place);
    if (!isMarked) void this.#prepare(place, wanted, isFromNow ?? false);
    // a run that was marked as it was made may have begun, and been heard of, before this
    else if (this.isLive) void this.ask(log.runId, BEGINNING);
    if (!this.#cancel) this.#schedule();
  }

  /** Answers whether the run was followed. */
  unfollow(runId: string): boolean {
    return this.#places.delete(runId);
  }

  /** True when output may never reach the database unless it is requested. */
  get isLive(): boolean {
    return this.parts.isLive ?? false;
  }

  follows(runId: string): boolean {
    return this.#places.has(runId);
  }

  /** Asks the server that has the run for its output, and for the events after a position. */
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

  /** Takes output as it is made. Output that leaves a gap waits for the database to fill it. */
  receive(event: StoredEvent): void {
    const place = this.#places.get(event.runId);
    if (!place) return;
    const { events } = place.log;
    if (!events.last && place.begun && event.position.n > 0)
      this.standsAt(event.runId, before(event.position));
    place.early.add(event);
    this.#takeEarly(place);
  }

  /** The channel of live output broke, or serves again: output in flight may be lost. */
  async askAgain(): Promise<void> {
    for (const [runId, { log, isReady }] of [...this.#places])
      if (isReady && this.#places.has(runId)) await this.ask(runId, log.events.last);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  /** The executing server reported the position of the output. A log that has not begun begins there. */
  standsAt(runId: string, position: Position): void {
    const place = this.#places.get(runId);
    if (!place) return;
    if (!place.log.events.last) this.#beginAfter(place, position);
    place.begun?.();
    this.#takeEarly(place);
  }

  /** The opening of the attempt was emitted before: readers get one all the same. */
  #beginAfter({ log: { runId, events } }: Place, position: Position): void {
    events.restart(position);
    const { attempt } = position;
    if (attempt > 0) events.describe({ event: 'metadata', data: JSON.stringify({ run_id: runId, attempt }) });
  }

  /**
   * Prepares a log. It never begins at a position that a client named, but at one that servers wrote or
   * answer; readers at an earlier position catch up by themselves, and a reader at a later one harms no
   * other.
   */
  async #prepare(place: Place, wanted: Position | undefined, isFromNow: boolean): Promise<void> {
    const { runId, events } = place.log;
    // the database lacks output that was sent live: the events in it may be old
    if (this.parts.isLive && isFromNow && (await this.#learnsPlace(place))) return this.#ready(place);
    try {
      if (!events.last) {
        const last = await findLastEvent(WORKER, this.parts.sql, runId);
        if (last && !events.last) this.#beginAfter(place, last);
      }
    } catch (error) {
      this.parts.log.warn({ run_id: runId, error: errorText(error) }, 'reading relayed output failed');
    }
    const { last } = events;
    await this.ask(runId, wanted && last ? earlier(wanted, last) : (wanted ?? last));
    this.#ready(place);
  }

  #ready(place: Place): void {
    place.isReady = true;
    this.#takeEarly(place);
    this.#look(false);
  }

  /** Answers whether the executing server reported, or showed by its output, the position of the output. */
  async #learnsPlace(place: Place): Promise<boolean> {
    const { runId, events } = place.log;
    const begun = Promise.withResolvers<void>();
    const cancel = this.parts.clock.after(ANSWER_MS, begun.resolve);
    place.begun = begun.resolve;
    await this.ask(runId, undefined);
    await begun.promise;
    cancel();
    place.begun = undefined;
    return events.last !== undefined;
  }

  #takeEarly(place: Place): void {
    const { early, log } = place;
    for (let next = early.takeNext(log.events.last); next; next = early.takeNext(log.events.last)) {
      if (!this.#deliver(place, next)) return;
      place.begun?.();
      if (this.#places.get(log.runId) !== place) return; // it has ended
    }
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
      if (!place) continue; // the run is in progress here by now
      if (this.#deliver(place, event)) hasMore = true;
      else gaps.add(place);
    }
    for (const [, place] of ready) {
      this.#takeEarly(place);
      if (place.early.first) gaps.add(place);
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
      events.restart(before(position));
    }
    place.looksAtGap = 0;
    if (event === END) {
      // readers at an earlier position have events to catch up with
      if (!last && position.n > 0) events.restart(before(position));
      this.#places.delete(runId);
      this.parts.logs.end(runId, { body: data });
    } else if (position.n === 0) events.open(position.attempt, { event, data });
    else events.append({ event, data }, position);
    return true;
  }

  /** Handles a gap: events between the log and the next one did not arrive, though they were requested. */
  async #missing(place: Place, found: readonly StoredEvent[]): Promise<void> {
    const { runId, events } = place.log;
    if (++place.looksAtGap < LOOKS_BEFORE_GIVING_UP) return this.ask(runId, events.last);
    const { last } = events;
    const next = [...found.filter((event) => event.runId === runId), place.early.first]
      .filter((event) => event !== undefined)
      .map(({ position }) => position)
      .filter((position) => !last || isAfter(position, last))
      .reduce<Position | undefined>(
        (first, position) => (first ? earlier(first, position) : position),
        undefined,
      );
    if (next) events.restart(before(next));
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
      // its server may keep the output a little longer than the run
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
