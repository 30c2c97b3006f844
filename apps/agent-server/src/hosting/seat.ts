import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';

const PAUSES = { firstMs: 100, longestMs: 10_000 };

/** A host that lived as long is no sign of trouble when it ends. */
const STEADY_MS = 30_000;

/** A process that is kept. */
interface Seated {
  readonly pid: number | undefined;
  /** Rejects when it does not load, or ends before. */
  readonly loaded: Promise<void>;
  readonly ended: Promise<Error>;
  describeLoad(): string | undefined;
  kill(): void;
  leave(): Promise<void>;
}

export interface SeatParts<P extends Seated> {
  /** What the processes are, in log lines. */
  readonly name: string;
  readonly make: () => P;
  /** Called for each process once it has loaded. */
  readonly onReady?: (process: P) => void;
  /** Called for each process that ended by itself. */
  readonly onEnd?: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** One host that is kept: when its process ends another takes its place, after pauses that grow. */
export class Seat<P extends Seated> {
  readonly #parts: SeatParts<P>;
  readonly #backoff: Backoff;
  #process: P;
  #ready = Promise.withResolvers<P>();
  #isReady = false;
  #isStopped = false;
  #trouble: string | undefined;

  constructor(parts: SeatParts<P>) {
    this.#parts = parts;
    this.#backoff = new Backoff(parts.clock, PAUSES);
    this.#process = this.#seat();
  }

  /** The process of today; undefined while none has loaded. */
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

  /** Why no process is there; undefined while one is. */
  get trouble(): string | undefined {
    return this.#isReady ? undefined : this.#trouble;
  }

  describeLoad(): string | undefined {
    return this.#process.describeLoad();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#process.leave();
  }

  #seat(): P {
    const { clock, log, name, make, onReady } = this.#parts;
    const process = make();
    const startedMs = clock.monotonicMs();
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
    void process.ended.then((end) => this.#ended(end, startedMs));
    return process;
  }

  #ended(end: Error, startedMs: number): void {
    const { clock, log, name, onEnd } = this.#parts;
    if (this.#isStopped) return;
    onEnd?.();
    this.#trouble = end.message.split(';', 1)[0];
    if (this.#isReady) {
      this.#isReady = false;
      this.#ready = Promise.withResolvers();
      if (clock.monotonicMs() - startedMs > STEADY_MS) this.#backoff.reset();
    }
    const pauseMs = this.#backoff.nextMs();
    log.error({ error: end.message, pauseMs: Math.round(pauseMs) }, `${name} ended; another is started`);
    clock.after(pauseMs, () => {
      if (!this.#isStopped) this.#process = this.#seat();
    });
  }
}
