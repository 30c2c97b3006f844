import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';

const PAUSES = { firstMs: 100, longestMs: 10_000 };

/** Lifetime after which the end of a host is no sign of trouble. */
const STEADY_MS = 30_000;

/** A host that ended this many times while idle is expected to keep ending. */
const IDLE_ENDS = 2;

/** A process that is kept. */
export interface Seated {
  readonly pid: number | undefined;
  /** Rejects when it does not load, or ends before. */
  readonly loaded: Promise<void>;
  readonly ended: Promise<Error>;
  /** True when it ended before it was given any work: no caller caused that. */
  readonly endedIdle?: boolean;
  describeLoad(): string | undefined;
  kill(): void;
  leave(): Promise<void>;
}

export interface SeatParts<P extends Seated> {
  /** Name of the processes in log lines. */
  readonly name: string;
  readonly make: () => P;
  /** A process that has loaded already, for the place of one that ended. */
  readonly spare?: () => P | undefined;
  /** Called for each process once it has loaded. */
  readonly onReady?: (process: P) => void;
  /** Called for each process that ended by itself. */
  readonly onEnd?: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** One host that is kept: when its process ends another takes its place, after pauses that grow. */
export class Seat<P extends Seated> {
  readonly #backoff: Backoff;
  #process: P;
  #ready = Promise.withResolvers<P>();
  #isReady = false;
  #isStopped = false;
  #trouble: string | undefined;
  #idleEnds = 0;
  #startedMs = 0;

  constructor(private readonly parts: SeatParts<P>) {
    this.#backoff = new Backoff(parts.clock, PAUSES);
    this.#process = this.#seat();
  }

  /** The current process; undefined while none has loaded. */
  get ready(): P | undefined {
    return this.#isReady ? this.#process : undefined;
  }

  /** The next process that has loaded. */
  get nextReady(): Promise<P> {
    return this.#ready.promise;
  }

  /** Resolves when the first process has loaded. @throws TerminalError `GraphLoadFailed`, Error when the process ended */
  get firstLoad(): Promise<void> {
    return this.#process.loaded;
  }

  /** Reason for which there is no process; undefined while there is one. */
  get trouble(): string | undefined {
    return this.#isReady ? undefined : this.#trouble;
  }

  /**
   * Reason why its processes end again and again, independent of their work; undefined while they do not, and
   * again once one has lived for a while.
   */
  get failing(): string | undefined {
    return this.idleEnds < IDLE_ENDS ? undefined : this.#trouble;
  }

  /** Number of times in a row that its processes have ended while idle; 0 once one has lived for a while. */
  get idleEnds(): number {
    const isSteady = this.#isReady && this.parts.clock.monotonicMs() - this.#startedMs > STEADY_MS;
    return isSteady ? 0 : this.#idleEnds;
  }

  describeLoad(): string | undefined {
    return this.#process.describeLoad();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#process.leave();
  }

  /** Puts a process that has loaded in the place of the current one. @returns that one, which lives on */
  replace(process: P): P {
    const former = this.#process;
    this.#isReady = false;
    this.#ready = Promise.withResolvers();
    this.#process = this.#seat(process);
    return former;
  }

  #seat(process = this.parts.make()): P {
    const { clock, log, name, onReady } = this.parts;
    const startedMs = clock.monotonicMs();
    this.#startedMs = startedMs;
    process.loaded.then(
      () => {
        if (this.#isStopped) return;
        this.#isReady = true;
        onReady?.(process);
        this.#ready.resolve(process);
        log.info(
          { pid: process.pid, loadedMs: Math.round(clock.monotonicMs() - startedMs) },
          `${name} ready`,
        );
      },
      (error: unknown) => {
        this.#trouble = errorText(error);
        process.kill();
      },
    );
    void process.ended.then((end) => {
      if (this.#process === process) this.#ended(process, end, startedMs);
    });
    return process;
  }

  #ended({ endedIdle }: P, end: Error, startedMs: number): void {
    const { clock, log, name, onEnd } = this.parts;
    if (this.#isStopped) return;
    onEnd?.();
    const isSteady = clock.monotonicMs() - startedMs > STEADY_MS;
    if (isSteady) this.#idleEnds = 0;
    if (endedIdle) this.#idleEnds++;
    this.#trouble = end.message.split(';', 1)[0];
    const said = /; it wrote: ([^\n]+)/.exec(end.message)?.[1];
    if (this.#idleEnds >= IDLE_ENDS)
      this.#trouble = `${name} ended ${this.#idleEnds} times with nothing to do: ${said ?? this.#trouble}`;
    if (this.#isReady) {
      this.#isReady = false;
      this.#ready = Promise.withResolvers();
      if (isSteady) this.#backoff.reset();
    }
    const spare = this.parts.spare?.();
    if (spare) {
      log.error({ error: end.message, pid: spare.pid }, `${name} ended; one that has loaded takes its place`);
      this.#process = this.#seat(spare);
      return;
    }
    const pauseMs = this.#seatAfterPause();
    log.error({ error: end.message, pauseMs: Math.round(pauseMs) }, `${name} ended; another is started`);
  }

  /** @returns the pause */
  #seatAfterPause(): number {
    const { clock, log, name } = this.parts;
    const pauseMs = this.#backoff.nextMs();
    clock.after(pauseMs, () => {
      if (this.#isStopped) return;
      try {
        this.#process = this.#seat();
      } catch (error) {
        // the machine has no memory or no descriptors for one
        this.#trouble = `${name} cannot be started: ${errorText(error)}`;
        log.error({ err: error }, `${name} cannot be started; the next attempt follows`);
        this.#seatAfterPause();
      }
    });
    return pauseMs;
  }
}
