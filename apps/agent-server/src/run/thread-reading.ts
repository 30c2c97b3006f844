import { errorText, PublicError } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { ReadFrom } from '../log/event-log.js';
import { LoggedEvent } from '../log/logged-event.js';
import { BEGINNING, parsePosition, positionText, type Position } from '../log/position.js';
import { listNewestRuns, type NewestRun } from '../store/run/list-newest-runs.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { findThread } from '../store/thread/find-thread.js';
import type { RunEvent } from '../stream/run-event.js';
import { OUTPUT_LOST, type Reading } from './run-reader.js';
import type { RunService } from './run-service.js';

/** What is shown of a thread: starts and ends of runs, all their output too, or the values after each. */
export const THREAD_MODES = ['run_modes', 'lifecycle', 'state_update'] as const;
export type ThreadMode = (typeof THREAD_MODES)[number];

/** Milliseconds between two looks for runs that were made at other servers. */
const LOOK_MS = 500;

export interface ThreadReadingParts {
  readonly runs: RunService;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The last event that a reader of a thread has seen: of which run, and where in it. */
export interface ThreadPosition {
  readonly runId: string;
  readonly position: Position;
}

/** `RUN:ATTEMPT-N`. */
export function parseThreadPosition(text: string): ThreadPosition | undefined {
  const [, runId, rest = ''] = /^([0-9a-f-]{36}):(.*)$/.exec(text) ?? [];
  const position = parsePosition(rest);
  return runId === undefined || !position ? undefined : { runId, position };
}

interface ReadRun {
  readonly runId: string;
  readonly reading: Reading | undefined;
  last: Position;
}

/** Everything that happens on a thread, run after run, for as long as somebody reads. */
export class ThreadReading implements Reading {
  readonly state = 'waiting';
  readonly hasEnd = false;
  readonly #runs: ReadRun[] = [];
  /** Events beside the output of runs. */
  readonly #own: LoggedEvent[] = [];
  #after = 0n;
  #isLooking = false;
  #isClosed = false;
  #cancelLook: () => void = () => undefined;
  #stopHearing: () => void = () => undefined;

  private constructor(
    private readonly of: { readonly scope: Scope; readonly threadId: string },
    private readonly modes: ReadonlySet<ThreadMode>,
    private readonly onMore: () => void,
    private readonly parts: ThreadReadingParts,
  ) {}

  /**
   * Reads what comes from now on, or what came after an event.
   * @param wanted `kept`: what is kept of the runs that are active
   */
  static async open(
    of: { readonly scope: Scope; readonly threadId: string },
    {
      modes,
      wanted,
    }: { readonly modes: ReadonlySet<ThreadMode>; readonly wanted: 'now' | 'kept' | ThreadPosition },
    onMore: () => void,
    parts: ThreadReadingParts,
  ): Promise<ThreadReading> {
    const reading = new ThreadReading(of, modes, onMore, parts);
    const found = await listNewestRuns(of.scope, parts.sql, of.threadId, 0n);
    reading.#after = found.at(-1)?.ordinal ?? 0n;
    reading.#stopHearing = parts.runs.onSubmitted(of.threadId, () => void reading.#look());
    try {
      await reading.#begin(found, wanted);
    } catch (error) {
      reading.close();
      throw error;
    }
    reading.#lookLater();
    return reading;
  }

  async #begin(found: readonly NewestRun[], wanted: 'now' | 'kept' | ThreadPosition): Promise<void> {
    if (typeof wanted === 'object') {
      const index = found.findIndex(({ runId }) => runId === wanted.runId);
      if (index < 0)
        throw new PublicError(
          'not_found',
          `Last-Event-ID: run ${wanted.runId} is not one of the newest runs of thread ${this.of.threadId}; join without it`,
        );
      for (const [place, run] of found.slice(index).entries())
        await this.#add(run, { kind: 'after', position: place === 0 ? wanted.position : BEGINNING });
      return;
    }
    for (const run of found)
      if (run.status === 'pending' || run.status === 'running') await this.#add(run, { kind: wanted });
  }

  take(): LoggedEvent | undefined {
    for (;;) {
      const own = this.#own.shift();
      if (own) return own;
      // a thread has one run at work: the next one begins when the first has ended
      const [run] = this.#runs;
      if (!run) return undefined;
      const next = run.reading?.take();
      if (next) {
        run.last = next.position;
        if (this.modes.has('run_modes') || (this.modes.has('lifecycle') && next.event === 'metadata'))
          return this.#shown(run, { event: next.event, data: next.data });
        continue;
      }
      if (run.reading?.state === 'waiting') return undefined;
      if (run.reading?.state === 'lost') this.#own.push(this.#shown(run, OUTPUT_LOST));
      run.reading?.close();
      this.#runs.shift();
      this.#ended(run);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelLook();
    this.#stopHearing();
    for (const { reading } of this.#runs) reading?.close();
  }

  #shown({ runId, last }: ReadRun, event: RunEvent): LoggedEvent {
    return new LoggedEvent(event, last, `${runId}:${positionText(last)}`);
  }

  #ended(run: ReadRun): void {
    if (this.modes.has('run_modes') || this.modes.has('lifecycle'))
      this.#own.push(
        this.#shown(run, {
          event: 'metadata',
          data: JSON.stringify({ status: 'run_done', run_id: run.runId }),
        }),
      );
    if (this.modes.has('state_update')) void this.#showState(run);
  }

  async #showState(run: ReadRun): Promise<void> {
    const { scope, threadId } = this.of;
    const thread = await findThread(scope, this.parts.sql, threadId).catch(() => undefined);
    if (!thread || this.#isClosed) return;
    const { values, status, interrupts } = thread;
    const data = JSON.stringify({ thread_id: threadId, run_id: run.runId, status, values, interrupts });
    this.#own.push(this.#shown(run, { event: 'state_update', data }));
    this.onMore();
  }

  async #add({ runId, status, attempt }: NewestRun, from: ReadFrom): Promise<void> {
    const { scope, threadId } = this.of;
    const isOver = status !== 'pending' && status !== 'running';
    let reading: Reading | undefined;
    // of a run that ended elsewhere before it was seen, nothing but that is known
    if (!isOver || this.parts.runs.hasOutput(runId))
      await this.parts.runs.read(
        scope,
        runId,
        threadId,
        { kind: 'output', attach: (given) => (reading = given), more: this.onMore },
        from,
      );
    if (this.#isClosed) return reading?.close();
    this.#runs.push({ runId, reading, last: { attempt, n: 0 } });
    this.onMore();
  }

  #lookLater(): void {
    this.#cancelLook = this.parts.clock.after(LOOK_MS, () => {
      void this.#look();
      if (!this.#isClosed) this.#lookLater();
    });
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#isClosed) return;
    this.#isLooking = true;
    try {
      const { scope, threadId } = this.of;
      for (const run of await listNewestRuns(scope, this.parts.sql, threadId, this.#after)) {
        this.#after = run.ordinal;
        // one that began elsewhere was not recorded before this server asked for it
        const isHere = this.parts.runs.hasOutput(run.runId);
        await this.#add(run, isHere ? { kind: 'after', position: BEGINNING } : { kind: 'now' });
      }
    } catch (error) {
      this.parts.log.warn(
        { threadId: this.of.threadId, error: errorText(error) },
        'following a thread failed',
      );
    } finally {
      this.#isLooking = false;
    }
  }
}
