import type { Clock } from '#lib/time';
import { EventLog, type RunResult } from '../log/event-log.js';

/** Milliseconds between two checks which logs have been kept long enough. */
const SWEEP_MS = 5_000;

/** Time for which a reader that took an event counts as active: a large event takes a slow client seconds. */
const PATIENCE_MS = 10_000;

/** Approximate bytes of a log beside its events (test/bench/run-logs.mjs). */
const LOG_BYTES = 1_024;

/**
 * Part of the limit that is freed beyond need, or exceeded when nothing can be freed: it bounds how often all
 * logs are read.
 */
const RELIEF_PART = 1 / 16;

export interface LogLimits {
  /** Limit per run; more only while a reader lags. */
  readonly runBytes: number;
  /** Limit of all output that is kept in this process. */
  readonly processBytes: number;
  /**
   * Time for which output is kept for readers that were attached, after the end of a run or after the last
   * reader left.
   */
  readonly keptMs: number;
  /** The same for runs made with `stream_resumable`. */
  readonly resumableMs: number;
}

/** The log of a run in this process. */
export interface RunLog {
  readonly runId: string;
  readonly events: EventLog;
  /** Made with `stream_resumable`: every caller who may see the run may read everything that is kept. */
  isResumable: boolean;
  /** The run is executed here: its log is needed, with or without readers. */
  isAtWork: boolean;
  /** Its output came from this process: others may ask for it. */
  isMadeHere: boolean;
  /** A reader left before it had taken everything. */
  isLeft: boolean;
  endedMs: number | undefined;
  /** Time since which the log has no reader; meaningless while it has one. */
  idleSinceMs: number;
}

const FRESH = {
  isResumable: false,
  isAtWork: false,
  isMadeHere: false,
  isLeft: false,
  endedMs: undefined,
  idleSinceMs: 0,
} as const;

/**
 * The logs of this process by run. A log lives as long as its run is in progress here or has a reader, and
 * for a time after that: a reader whose connection broke comes back.
 */
export class RunLogs {
  readonly #logs = new Map<string, RunLog>();
  /**
   * Logs without a run in progress and without readers, in the order in which they became so; some may be in
   * use again.
   */
  readonly #spare = new Set<RunLog>();
  #bytes = 0;
  /** Bytes above which events are dropped. */
  #reliefAbove: number;
  #cancelSweep: (() => void) | undefined;
  /** Called when the output of a run becomes wanted or unwanted. */
  onWanted: ((runId: string) => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly limits: LogLimits,
  ) {
    this.#reliefAbove = limits.processBytes;
  }

  /** Readers of all logs. */
  get readers(): number {
    return [...this.#logs.values()].reduce((sum, { events }) => sum + events.readers, 0);
  }

  /** Bytes of all logs, including their fixed overhead. */
  get bytes(): number {
    return this.#bytes;
  }

  get all(): RunLog[] {
    return [...this.#logs.values()];
  }

  find(runId: string): RunLog | undefined {
    return this.#logs.get(runId);
  }

  open(runId: string): RunLog {
    let log = this.#logs.get(runId);
    if (!log) {
      const events = new EventLog(runId, {
        maxBytes: this.limits.runBytes,
        patience: { ms: PATIENCE_MS, nowMs: () => this.clock.monotonicMs() },
        onChange: (change) => this.#changed(change),
        onWanted: () => this.onWanted?.(runId),
      });
      log = { runId, events, ...FRESH };
      this.#logs.set(runId, log);
      this.#changed(LOG_BYTES);
    }
    return log;
  }

  /** Keeps the output of a run from now on, though it may have no reader yet. */
  record(log: RunLog): void {
    if (log.events.isRecording) return;
    log.idleSinceMs = this.clock.monotonicMs();
    log.events.record();
    this.#sweepLater();
  }

  /** Ends the log of a run; its readers end after the events that are here. */
  end(runId: string, result: RunResult): void {
    const log = this.#logs.get(runId);
    if (!log) return;
    log.isAtWork = false;
    log.endedMs ??= this.clock.monotonicMs();
    log.events.end(result);
    this.release(log);
  }

  /** Forgets a log that nothing needs any more; one that was recorded stays for readers that come back. */
  release(log: RunLog): void {
    if (log.events.readers > 0 || log.events.isAwaited || (log.isAtWork && !log.events.isRecording)) return;
    if (!log.events.isRecording) return this.#forget(log);
    log.idleSinceMs = this.clock.monotonicMs();
    if (!log.isAtWork) {
      this.#spare.delete(log);
      this.#spare.add(log);
      this.#forgetSpare();
    }
    this.#sweepLater();
  }

  #forget(log: RunLog): void {
    this.#spare.delete(log);
    if (this.#logs.get(log.runId) === log) {
      this.#logs.delete(log.runId);
      this.#changed(-LOG_BYTES);
    }
    log.events.forget();
  }

  #sweepLater(): void {
    this.#cancelSweep ??= this.clock.after(SWEEP_MS, () => {
      this.#cancelSweep = undefined;
      this.#sweep();
    });
  }

  #sweep(): void {
    let isMore = false;
    for (const log of this.#logs.values()) {
      const { events, isResumable } = log;
      if (events.readers > 0 || !events.isRecording) continue;
      isMore = true;
      if (isResumable && log.isAtWork) continue;
      const idleMs = this.clock.monotonicMs() - log.idleSinceMs;
      if (idleMs < (isResumable ? this.limits.resumableMs : this.limits.keptMs)) continue;
      if (log.isAtWork) events.stopRecording();
      else if (!events.isAwaited) this.#forget(log);
    }
    if (isMore) this.#sweepLater();
  }

  #changed(change: number): void {
    this.#bytes += change;
    if (this.#bytes <= this.limits.processBytes) this.#reliefAbove = this.limits.processBytes;
    else if (change > 0 && this.#bytes > this.#reliefAbove) this.#relieve();
  }

  /**
   * Frees memory: logs without readers first, then the oldest events of the largest, then logs whose readers
   * take nothing. A pass reads all logs, so it frees more than it must; when events cannot be freed (the
   * newest of each run in progress), the next pass waits until there is more.
   */
  #relieve(): void {
    const { processBytes } = this.limits;
    this.#forgetSpare();
    if (this.#bytes > processBytes) this.#lower(processBytes * (1 - RELIEF_PART));
    if (this.#bytes > processBytes) this.#forgetStalled(processBytes * (1 - RELIEF_PART));
    this.#reliefAbove = Math.max(processBytes, this.#bytes + processBytes * RELIEF_PART);
  }

  #forgetSpare(): void {
    for (const log of this.#spare) {
      if (this.#bytes <= this.limits.processBytes) return;
      this.#spare.delete(log);
      if (!log.isAtWork && log.events.readers === 0 && !log.events.isAwaited) this.#forget(log);
    }
  }

  /** Forgets the rest of ended runs whose readers take nothing: a result, and one event of any size. */
  #forgetStalled(toBytes: number): void {
    for (const log of this.#logs.values()) {
      if (this.#bytes <= toBytes) return;
      const { isAtWork, events } = log;
      if (isAtWork || !events.result || events.isAwaited || events.isRead) continue;
      this.#forget(log);
      events.forgetResult();
    }
  }

  /** Takes the largest logs down to one size, as far as their newest events allow. */
  #lower(toBytes: number): void {
    const logs = this.all
      .map(({ events }) => events)
      .filter(({ bytes }) => bytes > 0)
      .sort((one, other) => other.bytes - one.bytes);
    const size = commonSize(
      logs.map(({ bytes }) => bytes),
      this.#bytes - toBytes,
    );
    for (const events of logs) {
      if (events.bytes <= size) return;
      while (events.bytes > size && events.dropOldest());
    }
  }
}

/** The size to which the largest have to come down so that together they are smaller by `excess`. */
function commonSize(descending: readonly number[], excess: number): number {
  let sum = 0;
  for (const [index, bytes] of descending.entries()) {
    sum += bytes;
    const size = (sum - excess) / (index + 1);
    if (size >= (descending[index + 1] ?? 0)) return Math.max(0, size);
  }
  return 0;
}
