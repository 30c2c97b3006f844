import { isJsonObject, parseShort } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { LoggedEvent, Position } from '../log/logged-event.js';
import type { RunStatus } from '../store/row/run-row.js';
import { listThreadRuns, THREAD_RUN_PAGE, type ThreadRun } from '../store/statement/runs.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { addressOf, type EventAddress } from '../stream/thread-protocol.js';
import type { RunOutputs } from './run-outputs.js';
import { type ThreadRunPage, ThreadWalk } from './thread-reading.js';
import type { ThreadWatch } from './thread-watch.js';

/** Progress of a part of a graph, in the words of the thread stream protocol. */
export type AgentStatus = 'started' | 'running' | 'completed' | 'failed' | 'interrupted';

/** The same of a whole run, by the status of its row. */
export const AGENT_STATUS: Readonly<Record<RunStatus, AgentStatus>> = {
  pending: 'started',
  running: 'running',
  success: 'completed',
  error: 'failed',
  timeout: 'failed',
  interrupted: 'interrupted',
};

/**
 * Numbers of one attempt, of one run, and runs of one thread: together the most that a JavaScript number
 * holds exactly.
 */
const ATTEMPT_NUMBERS = 2 ** 23;
const RUN_NUMBERS = 2 ** 30;
const MAX_PLACE = 2 ** 23 - 1;
const MAX_ATTEMPT = RUN_NUMBERS / ATTEMPT_NUMBERS - 1;

/**
 * The number of an event in the stream of its thread: the same at every server, and growing. It is made of
 * the run's place in its thread and the event's position, so that no server has to count, and readers that
 * reconnect get both from it again.
 * @returns undefined when the numbers end: after 8,388,607 runs of a thread, 127 attempts or 8,388,607 events
 *   of one
 */
export function sequenceOf(place: number, { attempt, n }: Position): number | undefined {
  // the last number of the last attempt is the one behind everything
  const fits = place <= MAX_PLACE && attempt <= MAX_ATTEMPT && n < ATTEMPT_NUMBERS - 1;
  return fits ? place * RUN_NUMBERS + attempt * ATTEMPT_NUMBERS + n : undefined;
}

/** Behind everything of a run. */
export function lastSequenceOf(place: number): number {
  return (Math.min(place, MAX_PLACE) + 1) * RUN_NUMBERS - 1;
}

/** The place of the run that a number belongs to. */
export function placeOf(sequence: number): number {
  return Math.floor(sequence / RUN_NUMBERS);
}

/** Position of an event in its run. */
export function positionOf(sequence: number): Position {
  const inRun = sequence % RUN_NUMBERS;
  return { attempt: Math.floor(inRun / ATTEMPT_NUMBERS), n: inRun % ATTEMPT_NUMBERS };
}

export interface ProtocolReadingParts {
  readonly sql: Sql;
  readonly outputs: Pick<RunOutputs, 'read'>;
  readonly watch: Pick<ThreadWatch, 'follow'>;
  /** Time for which the output of a run is kept after its end. */
  readonly keptMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A thread that a caller reads. */
export interface FollowedThread {
  readonly scope: Scope;
  readonly threadId: string;
  /** Number after which events are wanted; undefined: everything that is kept. */
  readonly since: number | undefined;
  /** Filter of events; unwanted events are not made. */
  readonly wants: (address: EventAddress) => boolean;
}

/** An event of a thread. */
export interface ThreadEvent extends EventAddress {
  readonly seq: number;
  /** The same at every server, and never given twice. */
  readonly id: string;
  /** JSON text of an object, or an event with these data. */
  readonly params: string | LoggedEvent;
}

/** Limit per error, whose message is cut where it is made. */
const MAX_ERROR_CHARS = 256 * 1024;

const ROOT: EventAddress = { channel: 'lifecycle', namespace: [] };

/** Unwanted events processed at a stretch; there may be many, so others run in between. */
const MAX_UNWANTED = 2_000;

/** Interval between checks of the row of a run whose output is lost and which has not ended. */
const LOOK_MS = 1_000;

/** Status of the protocol for the end of a run. */
function endOf(error: unknown): 'failed' | 'interrupted' {
  return isJsonObject(error) && error['error'] === 'UserInterrupt' ? 'interrupted' : 'failed';
}

/** The output of a thread as events of the thread stream protocol. */
export class ProtocolReading {
  readonly #walk: ThreadWalk;
  /**
   * End of the current run, held back until it is stored: a client that learns of it may continue the thread
   * at once.
   */
  #end: ThreadEvent | undefined;
  /** A run whose output is lost, until its row has ended; `event` is its end then. */
  #lost: { readonly run: ThreadRun; event?: ThreadEvent } | undefined;
  #cancelLook: (() => void) | undefined;
  #isClosed = false;

  constructor(
    private readonly thread: FollowedThread,
    private readonly onMore: () => void,
    private readonly parts: ProtocolReadingParts,
  ) {
    const { scope, threadId, since } = thread;
    const way = {
      scope,
      threadId,
      readsAhead: false,
      from: 0,
      list: (from: number) => this.#list(from),
      beginningOf: ({ place }: ThreadRun) =>
        since !== undefined && placeOf(since) === place
          ? { kind: 'after' as const, position: positionOf(since) }
          : { kind: 'kept' as const },
    };
    this.#walk = new ThreadWalk(way, onMore, parts);
    this.#walk.begin();
  }

  /** The next wanted event, if there is one now. */
  take(): ThreadEvent | undefined {
    for (let unwanted = 0; unwanted < MAX_UNWANTED; unwanted++) {
      const event = this.#next();
      if (event === 'none') return undefined;
      if (event && this.thread.wants(event) && event.seq > (this.thread.since ?? -1)) return event;
    }
    setImmediate(this.onMore);
    return undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelLook?.();
    this.#walk.close();
  }

  /** Undefined for a step that shows nothing. */
  #next(): ThreadEvent | 'none' | undefined {
    if (this.#lost) {
      const { event } = this.#lost;
      if (event) this.#lost = undefined;
      return event ?? 'none';
    }
    const step = this.#walk.take();
    if (!step) return 'none';
    return step.kind === 'event' ? this.#shown(step.run, step.event) : this.#ended(step.run, step.isLost);
  }

  async #list(from: number): Promise<ThreadRunPage> {
    const { scope, threadId, since } = this.thread;
    const { keptMs } = this.parts;
    const which = { kind: 'protocol', keptMs, fromPlace: since === undefined ? 0 : placeOf(since) } as const;
    const runs = await listThreadRuns(scope, this.parts.sql, threadId, { from, which });
    const next = (runs.at(-1)?.ordinal ?? from - 1) + 1;
    return { runs, next, isLast: runs.length < THREAD_RUN_PAGE };
  }

  #shown(run: ThreadRun, next: LoggedEvent): ThreadEvent | undefined {
    const address = addressOf(next.event);
    if (address) {
      if (!this.thread.wants(address)) return undefined;
      if (!isEnd(address, next)) return eventOf(run, next, address, next);
      this.#end = endingOf(run, next, address, next);
      return undefined;
    }
    if (next.event === 'metadata') {
      this.#end = undefined;
      return eventOf(run, next, ...this.#lifecycle(run, 'running'));
    }
    if (next.event !== 'error') return undefined;
    const error: unknown = parseShort(next.data, MAX_ERROR_CHARS);
    const message = isJsonObject(error) ? { error: error['message'] } : {};
    this.#end = endingOf(run, next, ...this.#lifecycle(run, endOf(error), message));
    return undefined;
  }

  #ended(run: ThreadRun, isLost: boolean): ThreadEvent | undefined {
    const end = this.#end;
    this.#end = undefined;
    if (end || !isLost) return end;
    this.#lost = { run };
    return this.#settle(run);
  }

  /** The end of a run whose output is lost, by its row, which is read again until the run has ended. */
  #settle(run: ThreadRun): ThreadEvent | undefined {
    const status = AGENT_STATUS[run.status];
    if (status === 'started' || status === 'running') {
      this.#cancelLook = this.parts.clock.after(LOOK_MS, () => void this.#look(run));
      return undefined;
    }
    this.#lost = undefined;
    const more =
      status === 'completed'
        ? {}
        : { error: 'The output of this run is no longer kept; read the state of the thread' };
    const [address, params] = this.#lifecycle(run, status, more);
    return { ...address, params, seq: lastSequenceOf(run.place), id: `${run.ordinal}-lost` };
  }

  async #look(run: ThreadRun): Promise<void> {
    const { scope, threadId } = this.thread;
    const from = run.ordinal;
    const found = await listThreadRuns(scope, this.parts.sql, threadId, {
      from,
      which: { kind: 'all' },
    }).then(
      ([first]) => first,
      () => run, // the database may answer later
    );
    if (this.#isClosed) return;
    // a run that was removed shows no end
    const event = found?.runId === run.runId ? this.#settle(found) : undefined;
    if (found?.runId !== run.runId) this.#lost = undefined;
    else if (event) this.#lost = { run, event };
    else return;
    this.onMore();
  }

  /** Lifecycle event of the run itself. */
  #lifecycle({ graphId }: ThreadRun, event: AgentStatus, more: object = {}): [EventAddress, string] {
    const timestamp = this.parts.clock.now().getTime();
    const data = { event, graph_name: graphId, ...more };
    return [ROOT, JSON.stringify({ namespace: ROOT.namespace, timestamp, data })];
  }
}

function isEnd({ channel, namespace }: EventAddress, logged: LoggedEvent): boolean {
  const isOfRun = channel === 'lifecycle' && namespace.length === 0;
  return isOfRun && /"event":"(completed|interrupted|failed)"/.test(logged.data);
}

/** Undefined for an event behind the last number: of such a run only the end is shown. */
function eventOf(
  { place, ordinal }: ThreadRun,
  { position }: LoggedEvent,
  address: EventAddress,
  params: ThreadEvent['params'],
): ThreadEvent | undefined {
  const seq = sequenceOf(place, position);
  return seq === undefined ? undefined : { ...address, params, seq, id: idOf(ordinal, position) };
}

function endingOf(
  run: ThreadRun,
  next: LoggedEvent,
  address: EventAddress,
  params: ThreadEvent['params'],
): ThreadEvent {
  const ending = { ...address, params, seq: lastSequenceOf(run.place), id: idOf(run.ordinal, next.position) };
  return eventOf(run, next, address, params) ?? ending;
}

function idOf(ordinal: number, { attempt, n }: Position): string {
  return `${ordinal}-${attempt}-${n}`;
}
