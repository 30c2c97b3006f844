import { errorText, PublicError } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import type { ReadFrom } from '../log/log-cursor.js';
import {
  type LoggedEvent,
  type OutgoingFrame,
  BEGINNING,
  parsePosition,
  positionText,
  type Position,
} from '../log/logged-event.js';
import { type ThreadRun, findRunPlace, listThreadRuns, THREAD_RUN_PAGE } from '../store/statement/runs.js';
import type { Scope } from '../store/scope.js';
import { type Reading, OUTPUT_LOST } from './run-reading.js';
import type { RunOutputs } from './run-outputs.js';
import type { ThreadWatch } from './thread-watch.js';
import type { Sql } from '../store/sql.js';
import type { ThreadText } from '../store/row/thread-row.js';
import { findThreadEnd } from '../store/statement/threads.js';
import { withMembers } from '../wire/wire-value.js';
import type { RunEvent } from '../stream/run-event.js';

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

/** Views of a thread: starts and ends of runs, all their output too, or the values after each. */
export const THREAD_MODES = ['run_modes', 'lifecycle', 'state_update'] as const;
export type ThreadMode = (typeof THREAD_MODES)[number];

/** Hidden events processed at a stretch; there may be many, so others run in between. */
const MAX_UNSHOWN = 2_000;

export interface ThreadReadingParts {
  readonly outputs: Pick<RunOutputs, 'read' | 'isKept'>;
  readonly watch: Pick<ThreadWatch, 'follow'>;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The last event that a reader of a thread has seen: its run, and its position in it. */
export interface ThreadPosition {
  readonly runId: string;
  readonly position: Position;
}

/** `RUN:ATTEMPT-N`. */
export function parseThreadPosition(text: string): ThreadPosition | undefined {
  const [, runId, rest = ''] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(.*)$/.exec(text) ?? [];
  const position = parsePosition(rest);
  return runId === undefined || !position ? undefined : { runId, position };
}

/** `kept`: the kept output of the runs that are active. */
export type ThreadFrom = 'now' | 'kept' | ThreadPosition;

interface OfThread {
  readonly scope: Scope;
  readonly threadId: string;
}

/** All events of a thread, run after run, as long as it has a reader. */
export class ThreadReading {
  readonly state = 'waiting';
  readonly hasEnd = false;
  readonly #walk: ThreadWalk;
  readonly #backoff: Backoff;
  /** Events beside the output of runs. */
  readonly #own: OutgoingFrame[] = [];
  /** Position in the run that is being read. */
  #last: Position | undefined;
  #isReadingState = false;
  #isClosed = false;
  #cancelRetry: (() => void) | undefined;

  private constructor(
    private readonly of: OfThread,
    private readonly modes: ReadonlySet<ThreadMode>,
    /** `newest`: place of the newest run when it began. */
    private readonly since: { readonly newest: number; readonly wanted: ThreadFrom },
    from: number,
    private readonly onMore: () => void,
    private readonly parts: ThreadReadingParts,
  ) {
    const { scope, threadId } = of;
    const way = {
      scope,
      threadId,
      from,
      readsAhead: true,
      list: (place: number) => this.#list(place),
      beginningOf: (run: ThreadRun) => this.#beginningOf(run),
    };
    this.#backoff = new Backoff(parts.clock, PAUSES);
    this.#walk = new ThreadWalk(way, onMore, parts);
  }

  /**
   * Reads output from now on, or after an event.
   * @throws PublicError `not_found` when the event is of no run of the thread
   */
  static async open(
    of: OfThread,
    { modes, wanted }: { readonly modes: ReadonlySet<ThreadMode>; readonly wanted: ThreadFrom },
    onMore: () => void,
    parts: ThreadReadingParts,
  ): Promise<ThreadReading> {
    const { scope, threadId } = of;
    // runs that are made while this looks are recorded from their first event
    const unfollow = parts.watch.follow(threadId, () => undefined);
    let reading: ThreadReading | undefined;
    try {
      const newest = (await findRunPlace(scope, parts.sql, threadId)) ?? -1;
      const from = typeof wanted === 'object' ? await placeOf(of, wanted, parts.sql) : 0;
      reading = new ThreadReading(of, modes, { newest, wanted }, from, onMore, parts);
      await reading.#walk.beginNow();
      return reading;
    } catch (error) {
      reading?.close();
      throw error;
    } finally {
      unfollow();
    }
  }

  take(): OutgoingFrame | undefined {
    for (let unshown = 0; unshown < MAX_UNSHOWN; unshown++) {
      const own = this.#own.shift();
      if (own) return own;
      if (this.#isReadingState) return undefined;
      const step = this.#walk.take();
      if (!step) return undefined;
      if (step.kind === 'end') {
        this.#ended(step.run, step.isLost);
        continue;
      }
      this.#last = step.event.position;
      if (this.modes.has('run_modes') || (this.modes.has('lifecycle') && step.event.event === 'metadata'))
        return this.#passedOn(step.run, step.event);
    }
    setImmediate(this.onMore);
    return undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#walk.close();
  }

  /**
   * Lists the runs to read: of those made before the reading began, the active ones; also ended ones when an
   * event was named.
   */
  async #list(place: number): Promise<ThreadRunPage> {
    const { scope, threadId } = this.of;
    const { newest, wanted } = this.since;
    const isPast = place <= newest && typeof wanted !== 'object';
    const which = { kind: isPast ? ('active' as const) : ('all' as const) };
    const runs = await listThreadRuns(scope, this.parts.sql, threadId, { from: place, which });
    const isLast = runs.length < THREAD_RUN_PAGE;
    const next = (runs.at(-1)?.ordinal ?? place - 1) + 1;
    if (!isPast) return { runs, next, isLast };
    const past = runs.filter(({ ordinal }) => ordinal <= newest);
    return { runs: past, next: isLast ? newest + 1 : Math.min(next, newest + 1), isLast: false };
  }

  #beginningOf({ runId, status, ordinal }: ThreadRun): ReadFrom | undefined {
    const { newest, wanted } = this.since;
    if (typeof wanted === 'object' && runId === wanted.runId)
      return { kind: 'after', position: wanted.position };
    const isHere = this.parts.outputs.isKept(runId);
    const isOver = status !== 'pending' && status !== 'running';
    // a run that ended elsewhere before this server saw it is known to have ended, and nothing more
    if (isOver && !isHere) return undefined;
    if (ordinal <= newest && typeof wanted === 'object') return { kind: 'after', position: BEGINNING };
    if (ordinal <= newest && typeof wanted === 'string') return { kind: wanted };
    // one that began elsewhere was not recorded before this server asked for it
    return isHere ? { kind: 'after', position: BEGINNING } : { kind: 'now' };
  }

  /** Frame under an id of the thread; its data are not copied. */
  #passedOn({ runId }: ThreadRun, logged: LoggedEvent): OutgoingFrame {
    const { event, dataBytes: frame, position } = logged;
    return { event, head: headOf(runId, position, event), frame, tail: END, of: logged };
  }

  #shown({ runId, attempt }: ThreadRun, { event, data }: RunEvent): OutgoingFrame {
    const head = headOf(runId, this.#last ?? { attempt, n: 0 }, event);
    return { event, head, frame: Buffer.from(data), tail: END };
  }

  #ended(run: ThreadRun, isLost: boolean): void {
    if (isLost) this.#own.push(this.#shown(run, OUTPUT_LOST));
    const done = { event: 'metadata', data: JSON.stringify({ status: 'run_done', run_id: run.runId }) };
    if (this.modes.has('run_modes') || this.modes.has('lifecycle')) this.#own.push(this.#shown(run, done));
    if (this.modes.has('state_update')) this.#showState(run, this.#last);
    this.#last = undefined;
  }

  /** Shows the state after a run; later events wait until the database answers. */
  #showState(run: ThreadRun, last: Position | undefined): void {
    const { scope, threadId } = this.of;
    this.#isReadingState = true;
    const { sql } = this.parts;
    sql
      .lookIfSmall(scope, (mayBeLarge) => findThreadEnd(scope, sql, threadId, mayBeLarge))
      .then((thread) => {
        this.#backoff.reset();
        this.#isReadingState = false;
        if (this.#isClosed) return;
        if (thread !== undefined) this.#own.push(this.#stateUpdate(run, last, thread));
        this.onMore();
      })
      .catch((error: unknown) => {
        if (this.#isClosed) return;
        const retryMs = Math.round(this.#backoff.nextMs());
        this.parts.log.warn(
          { threadId, runId: run.runId, retryMs, error: errorText(error) },
          'reading the values of a followed thread failed; retrying',
        );
        this.#cancelRetry = this.parts.clock.after(retryMs, () => this.#showState(run, last));
      });
  }

  #stateUpdate(run: ThreadRun, last: Position | undefined, thread: ThreadText): OutgoingFrame {
    const data = withMembers(thread, { run_id: run.runId });
    const event = 'state_update';
    const head = headOf(run.runId, last ?? { attempt: run.attempt, n: 0 }, event);
    return { event, head, frame: Buffer.from(data), tail: END };
  }
}

const END = Buffer.from('\n\n');

function headOf(runId: string, position: Position, event: string): Buffer {
  return Buffer.from(`id: ${runId}:${positionText(position)}\nevent: ${event}\ndata: `);
}

/** @throws PublicError `not_found` */
async function placeOf({ scope, threadId }: OfThread, { runId }: ThreadPosition, sql: Sql): Promise<number> {
  const place = await findRunPlace(scope, sql, threadId, runId);
  if (place !== undefined) return place;
  throw new PublicError(
    'not_found',
    `Last-Event-ID: run ${runId} is not a run of thread ${threadId}; it may have been removed; join without the header`,
  );
}
