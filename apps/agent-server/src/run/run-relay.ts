import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { UNKNOWN_SERVER, type LiveOutput } from '../log/live-output.js';
import { Batch } from '../store/batch.js';
import { appendRunEvents, notifyPosition } from '../store/statement/run-events.js';
import { END, type RelayedEvent, type LoggedEvent, BEGINNING, type Position } from '../log/logged-event.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { RunLog } from './run-logs.js';

const MAX_EVENTS = 500;

/** Limit per statement: its texts are in memory twice while it is in flight. */
const MAX_STATEMENT_BYTES = 4 * 1024 * 1024;

/**
 * Bytes that may wait for a slow database. Above it events are left out: servers that follow notice the gap
 * by the numbers and ask for what is missing, which the log still has.
 */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

type RelayedOutput = Pick<LoggedEvent, 'position' | 'event' | 'data' | 'bytes'>;

interface Waiting {
  readonly runId: string;
  readonly logged: RelayedOutput;
  readonly isRepeated: boolean;
  /** Servers that are sent it as it is made; when empty, it goes through the database. */
  readonly to: readonly string[];
}

function relayed({ runId, logged, isRepeated }: Waiting): RelayedEvent {
  return { runId, position: logged.position, event: logged.event, data: logged.data, isRepeated };
}

/**
 * Output of runs here on its way to readers at other servers; keeps the order of calls. New output goes
 * through Redis when it is available, and through the database when it is not or a server does not listen;
 * repeated output goes through the database.
 */
export class RunRelay {
  readonly #appends: Batch<Waiting, void>;
  readonly #under = new Set<Promise<void>>();
  /** Servers whose readers want the output of a run in progress here. */
  readonly #watchers = new Map<string, Set<string>>();
  #waitingBytes = 0;
  /** Called when something of a run was left out or not written. */
  onLost: ((runId: string) => void) | undefined;

  constructor(
    private readonly sql: Sql,
    private readonly log: Logger,
    private readonly live?: LiveOutput,
  ) {
    this.#appends = new Batch<Waiting, void>(
      async (events) => {
        const output = events.map((waiting) => ({ to: waiting.to, event: relayed(waiting) }));
        const rest = await (live?.send(output) ?? output.map(({ event }) => event));
        if (rest.length > 0) await appendRunEvents(WORKER, sql, rest);
        return () => undefined;
      },
      { maxItems: MAX_EVENTS, maxBytes: MAX_STATEMENT_BYTES, bytesOf: ({ logged }) => logged.bytes },
    );
  }

  /** True when new output may never reach the database. */
  get isLive(): boolean {
    return this.live !== undefined;
  }

  /** Adds servers that are sent the output of the run from now on. */
  addWatchers(runId: string, servers: readonly (string | undefined)[]): void {
    if (!this.live) return;
    const watchers = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watchers);
    for (const server of servers) watchers.add(server ?? UNKNOWN_SERVER);
  }

  /** The run is no longer in progress here: later output goes through the database. */
  forgetWatchers(runId: string): void {
    this.#watchers.delete(runId);
  }

  /** Never rejects: lost events are requested again. */
  append(runId: string, logged: RelayedOutput, isRepeated = false): Promise<void> {
    if (this.#waitingBytes > MAX_WAITING_BYTES) {
      this.onLost?.(runId);
      return Promise.resolve();
    }
    this.#waitingBytes += logged.bytes;
    const to = isRepeated ? [] : [...(this.#watchers.get(runId) ?? [])];
    const written = this.#write({ runId, logged, isRepeated, to }).finally(() => {
      this.#waitingBytes -= logged.bytes;
      this.#under.delete(written);
    });
    this.#under.add(written);
    return written;
  }

  async #write(waiting: Waiting): Promise<void> {
    try {
      await this.#appends.add(waiting);
    } catch (error) {
      const { runId } = waiting;
      this.onLost?.(runId);
      this.log.warn({ run_id: runId, error: errorText(error) }, 'relaying output to another server failed');
    }
  }

  /** Resolves once everything given so far has been written, or was lost. */
  async flushed(): Promise<void> {
    await Promise.all(this.#under);
  }

  /** The end of a run whose log ended here: no output comes after it. */
  async end({ runId, events }: RunLog): Promise<void> {
    const { attempt, n } = events.last ?? BEGINNING;
    if (events.result) await this.endAt(runId, { attempt, n: n + 1 }, events.result.body);
  }

  /** The end of a run that has no log here. */
  endAt(runId: string, position: Position, body: string): Promise<void> {
    return this.append(runId, { position, event: END, data: body, bytes: body.length });
  }

  /** Reports the position of the output of a run to servers that asked. */
  stand(runId: string, position: Position): void {
    notifyPosition(WORKER, this.sql, runId, position).catch((error: unknown) =>
      this.log.warn({ run_id: runId, error: errorText(error) }, 'relaying output to another server failed'),
    );
  }

  /** Sends events again that a reader elsewhere has missed. */
  async repeat(runId: string, events: readonly LoggedEvent[]): Promise<void> {
    const waiting: Promise<void>[] = [];
    for (const logged of events) {
      if (this.#waitingBytes > MAX_STATEMENT_BYTES) await Promise.all(waiting.splice(0));
      waiting.push(this.append(runId, logged, true));
    }
    await Promise.all(waiting);
  }
}
