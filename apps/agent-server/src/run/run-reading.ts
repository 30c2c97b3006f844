import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { RunResult } from '../log/event-log.js';
import type { LogCursor, ReadFrom } from '../log/log-cursor.js';
import { LoggedEvent, isNext, type Position, END } from '../log/logged-event.js';
import { readRunEvents } from '../store/statement/run-events.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { RunEvent } from '../stream/run-event.js';
import type { RunFollower } from './run-follower.js';
import type { RunLog, RunLogs } from './run-logs.js';

/** A way through the output of a run that its reader takes at its own pace. */
export interface Reading {
  /** The next event; without one, `state` says why. */
  take(): LoggedEvent | undefined;
  /** `lost`: the next output for this reader is no longer kept. */
  readonly state: 'waiting' | 'ended' | 'lost';
  /** True when the run has ended: the remaining events are here. */
  readonly hasEnd: boolean;
  close(): void;
}

/** Event that a reader gets in place of output that is no longer kept. */
export const OUTPUT_LOST: RunEvent = {
  event: 'error',
  data: JSON.stringify({
    error: 'OutputLost',
    message:
      'What comes next in this output is no longer kept; read the state of the thread, or join again from now on',
  }),
};

/** Reads the output of a run. */
export interface OutputReader {
  readonly kind: 'output';
  attach(reading: Reading): void;
  /** Called when there may be more to take. */
  more(): void;
}

/** Waits for the end of a run. */
export interface ResultReader {
  readonly kind: 'result';
  ended(result: RunResult): void;
}

export type RunReader = OutputReader | ResultReader;

/** Bytes that one reader holds in memory while it catches up. */
const PAGE_BYTES = 256 * 1024;

/**
 * Milliseconds between two polls for output that another server was asked to repeat, and the number of polls.
 */
const LOOK_MS = 250;
const LOOKS = 20;
const LOOKS_BETWEEN_QUESTIONS = 8;

export interface ReadingParts {
  readonly sql: Sql;
  readonly logs: RunLogs;
  readonly follower: RunFollower;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * One reader of the output of a run: first the output that an earlier attempt left in the database, page by
 * page as the reader takes it, then the log here.
 */
export class RunReading implements Reading {
  readonly #cursor: LogCursor;
  #page: LoggedEvent[] = [];
  #isCatchingUp = false;
  #isLost = false;
  #isClosed = false;
  #looks = 0;

  constructor(
    private readonly runLog: RunLog,
    from: ReadFrom,
    private readonly onMore: () => void,
    private readonly parts: ReadingParts,
  ) {
    this.#cursor = runLog.events.read(from, onMore);
  }

  /** The next event; without one, `state` says why. */
  take(): LoggedEvent | undefined {
    const next = this.#page.shift() ?? this.#cursor.take();
    if (!next && !this.#isLost && this.#cursor.state === 'behind') this.#catchUp();
    return next;
  }

  /** `lost`: the next output for this reader is no longer kept. */
  get state(): 'waiting' | 'ended' | 'lost' {
    if (this.#page.length > 0) return 'waiting';
    if (this.#isLost) return 'lost';
    const { state } = this.#cursor;
    if (state !== 'ended') return 'waiting';
    return this.runLog.events.result?.lacksOutput ? 'lost' : 'ended';
  }

  get hasEnd(): boolean {
    return this.runLog.events.result !== undefined;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.state === 'waiting') this.runLog.isLeft = true;
    this.#cursor.close();
    this.parts.logs.release(this.runLog);
  }

  #catchUp(): void {
    const { position } = this.#cursor;
    if (this.#isCatchingUp || this.#isClosed || !position) return;
    this.#isCatchingUp = true;
    this.#readPage(position)
      .catch((error: unknown) => {
        this.parts.log.warn(
          { runId: this.runLog.runId, error: errorText(error) },
          'reading earlier output failed',
        );
        return this.#lookAgain();
      })
      .finally(() => {
        this.#isCatchingUp = false;
        if (!this.#isClosed) this.onMore();
      });
  }

  async #readPage(after: Position): Promise<void> {
    const { runId, events } = this.runLog;
    const { sql } = this.parts;
    const found = await sql.readEarlier(WORKER, async () =>
      this.#isClosed ? [] : readRunEvents(WORKER, sql, [{ runId, after }], PAGE_BYTES),
    );
    let last = after;
    for (const { position, event, data } of found) {
      if (!isNext(position, last)) break;
      last = position;
      if (event === END) break;
      this.#page.push(new LoggedEvent({ event, data }, position));
    }
    this.#cursor.moveTo(last);
    const { before } = events;
    if (last !== after) this.#looks = 0;
    // the saved output of the attempts before has been read, and the log begins with the opening of its own
    else if (before?.n === -1 && this.runLog.isAtWork) this.#cursor.moveTo(before);
    // output that was sent live is in no table until it is requested, also after the end of the run
    else if (this.parts.follower.isLive || this.parts.follower.follows(runId)) await this.#lookAgain();
    else this.#isLost = true;
  }

  async #lookAgain(): Promise<void> {
    if (this.#looks++ >= LOOKS) this.#isLost = true;
    else {
      if (this.#looks % LOOKS_BETWEEN_QUESTIONS === 1)
        await this.parts.follower.ask(this.runLog.runId, this.#cursor.position);
      await this.parts.clock.sleep(LOOK_MS);
    }
  }
}
