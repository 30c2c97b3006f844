import { errorText } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { ReadFrom } from '../log/event-log.js';
import type { LoggedEvent } from '../log/logged-event.js';
import {
  listProtocolRuns,
  PROTOCOL_RUN_PAGE as PAGE,
  type ProtocolRun,
} from '../store/run/list-protocol-runs.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { addressOf, type EventAddress } from '../stream/thread-protocol.js';
import type { Reading } from './run-reader.js';
import type { RunService } from './run-service.js';
import { lastSequenceOf, ordinalOf, positionOf, sequenceOf } from './thread-sequence.js';
import type { ThreadWakes } from './thread-wakes.js';

/** Milliseconds between two looks for new runs without a notification. */
const LOOK_MS = 10_000;

export interface ProtocolReadingParts {
  readonly sql: Sql;
  readonly runs: RunService;
  readonly wakes: ThreadWakes;
  /** How long the output of a run is kept after its end. */
  readonly keptMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A thread that a caller reads. */
export interface FollowedThread {
  readonly scope: Scope;
  readonly threadId: string;
  /** Only what comes after this number; undefined: everything that is kept. */
  readonly since: number | undefined;
  /** What is not wanted is not made. */
  readonly wants: (address: EventAddress) => boolean;
}

/** An event of a thread. */
export interface ThreadEvent extends EventAddress {
  readonly seq: number;
  /** The same at every server, and never given twice. */
  readonly id: string;
  /** JSON text of an object. */
  readonly params: string;
}

interface Current {
  readonly run: ProtocolRun;
  reading: Reading | undefined;
  stop: (() => void) | undefined;
  /** How it ended, until that is stored: whoever learns it may go on with the thread at once. */
  end: ThreadEvent | undefined;
}

const ROOT: readonly string[] = [];

/** How the protocol calls the end of a run. */
function endOf(error: unknown): 'failed' | 'interrupted' {
  return isJsonObject(error) && error['error'] === 'UserInterrupt' ? 'interrupted' : 'failed';
}

/** One reader's way through the output of a thread: run after run, those that are to come included. */
export class ProtocolReading {
  readonly #endWakes: () => void;
  #waiting: ProtocolRun[] = [];
  #current: Current | undefined;
  /** The first run that has not been looked for. */
  #nextOrdinal: number;
  #isLooking = false;
  #shouldLookAgain = false;
  #isClosed = false;
  #cancelLook: (() => void) | undefined;

  constructor(
    private readonly thread: FollowedThread,
    private readonly onMore: () => void,
    private readonly parts: ProtocolReadingParts,
  ) {
    this.#nextOrdinal = thread.since === undefined ? 0 : ordinalOf(thread.since);
    this.#endWakes = parts.wakes.on(thread.threadId, () => this.#look());
    this.#look();
  }

  /** The next event that is wanted, as far as there is one now. */
  take(): ThreadEvent | undefined {
    for (;;) {
      const current = this.#current;
      if (!current?.reading) return undefined;
      const next = current.reading.take();
      if (!next && current.reading.state === 'waiting') return undefined;
      const event = next ? this.#shown(current, next) : this.#ended(current, current.reading);
      if (event && this.thread.wants(event) && event.seq > (this.thread.since ?? -1)) return event;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelLook?.();
    this.#endWakes();
    this.#current?.stop?.();
    this.#current?.reading?.close();
  }

  #shown(current: Current, next: LoggedEvent): ThreadEvent | undefined {
    const { run } = current;
    const address = addressOf(next.event);
    if (address) {
      if (!this.thread.wants(address)) return undefined;
      const event = eventOf(run, next, address, next.data);
      if (!isEnd(event)) return event;
      current.end = event;
      return undefined;
    }
    if (next.event === 'metadata') {
      current.end = undefined;
      return eventOf(run, next, ...this.#lifecycle(run, 'running'));
    }
    if (next.event !== 'error') return undefined;
    const error: unknown = JSON.parse(next.data);
    const message = isJsonObject(error) ? { error: error['message'] } : {};
    current.end = eventOf(run, next, ...this.#lifecycle(run, endOf(error), message));
    return undefined;
  }

  /** The end of a run, and the turn of the next one. */
  #ended({ run, end, stop }: Current, { state }: Reading): ThreadEvent | undefined {
    stop?.();
    this.#current = undefined;
    this.#begin();
    if (end || state !== 'lost') return end;
    const [address, params] = this.#lifecycle(run, 'failed', {
      error: 'The output of this run is no longer kept; read the state of the thread',
    });
    return { ...address, params, seq: lastSequenceOf(run.ordinal), id: `${run.ordinal}-lost` };
  }

  /** What happens to the run itself. */
  #lifecycle(
    { graphId }: ProtocolRun,
    event: 'running' | 'failed' | 'interrupted',
    more: object = {},
  ): [EventAddress, string] {
    const timestamp = this.parts.clock.now().getTime();
    const data = { event, graph_name: graphId, ...more };
    return [{ channel: 'lifecycle', namespace: ROOT }, JSON.stringify({ namespace: ROOT, timestamp, data })];
  }

  #look(): void {
    if (this.#isClosed) return;
    if (this.#isLooking) {
      this.#shouldLookAgain = true;
      return;
    }
    this.#isLooking = true;
    this.#cancelLook?.();
    this.#find()
      .catch((error: unknown) =>
        this.parts.log.warn(
          { threadId: this.thread.threadId, error: errorText(error) },
          'looking for runs of a thread failed',
        ),
      )
      .finally(() => {
        this.#isLooking = false;
        if (this.#isClosed) return;
        this.#cancelLook = this.parts.clock.after(LOOK_MS, () => this.#look());
        if (!this.#shouldLookAgain) return;
        this.#shouldLookAgain = false;
        this.#look();
      });
  }

  async #find(): Promise<void> {
    const { scope, threadId } = this.thread;
    const from = { ordinal: this.#nextOrdinal, keptMs: this.parts.keptMs };
    const found = await listProtocolRuns(scope, this.parts.sql, threadId, from);
    const last = found.at(-1);
    if (!last || this.#isClosed) return;
    this.#nextOrdinal = last.ordinal + 1;
    this.#shouldLookAgain ||= found.length === PAGE;
    this.#waiting.push(...found);
    this.#begin();
  }

  #begin(): void {
    if (this.#current || this.#isClosed) return;
    const run = this.#waiting.shift();
    if (!run) return;
    const current: Current = { run, reading: undefined, stop: undefined, end: undefined };
    this.#current = current;
    this.#open(current).catch((error: unknown) => {
      // it was removed in the meantime
      this.parts.log.debug(
        { runId: run.runId, error: errorText(error) },
        'run of a followed thread not read',
      );
      if (this.#current !== current) return;
      this.#current = undefined;
      this.#begin();
    });
  }

  async #open(current: Current): Promise<void> {
    const { scope, threadId, since } = this.thread;
    const { runId, ordinal, attempt } = current.run;
    const from: ReadFrom =
      since !== undefined && ordinalOf(since) === ordinal
        ? { kind: 'after', position: positionOf(since, attempt) }
        : { kind: 'kept' };
    const reader = {
      kind: 'output' as const,
      attach: (reading: Reading) => (current.reading = reading),
      more: () => this.onMore(),
    };
    const stop = await this.parts.runs.read(scope, runId, threadId, reader, from);
    current.stop = stop;
    if (this.#isClosed) stop();
    else this.onMore();
  }
}

function isEnd({ channel, namespace, params }: ThreadEvent): boolean {
  const isOfRun = channel === 'lifecycle' && namespace.length === 0;
  return isOfRun && /"event":"(completed|interrupted|failed)"/.test(params);
}

function eventOf(
  { ordinal }: ProtocolRun,
  { position }: LoggedEvent,
  address: EventAddress,
  params: string,
): ThreadEvent {
  const { attempt, n } = position;
  return { ...address, params, seq: sequenceOf(ordinal, position), id: `${ordinal}-${attempt}-${n}` };
}
