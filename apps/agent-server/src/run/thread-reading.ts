import { errorText, PublicError } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import type { ReadFrom } from '../log/log-cursor.js';
import type { LoggedEvent, OutgoingFrame } from '../log/logged-event.js';
import { BEGINNING, parsePosition, positionText, type Position } from '../log/position.js';
import { findRunPlace, listThreadRuns, THREAD_RUN_PAGE, type ThreadRun } from '../store/run/runs.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import type { ThreadText } from '../store/row/thread-row.js';
import { findThreadEnd } from '../store/thread/threads.js';
import { withMembers } from '../wire/chosen-members.js';
import type { RunEvent } from '../stream/run-event.js';
import { OUTPUT_LOST } from './run-reading.js';
import type { RunOutputs } from './run-outputs.js';
import { ThreadWalk, type ThreadRunPage } from './thread-walk.js';
import type { ThreadWatch } from './thread-watch.js';

/** Views of a thread: starts and ends of runs, all their output too, or the values after each. */
export const THREAD_MODES = ['run_modes', 'lifecycle', 'state_update'] as const;
export type ThreadMode = (typeof THREAD_MODES)[number];

/** Hidden events processed at a stretch; there may be many, so others run in between. */
const MAX_UNSHOWN = 2_000;

const PAUSES = { firstMs: 250, longestMs: 10_000 };

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
