import { errorText } from '#lib/errors';
import { metrics } from '#lib/telemetry';
import { Backoff } from '#lib/time';
import { GraphProcess, type GraphProcessParts } from './graph-process.js';

const PAUSES = { firstMs: 100, longestMs: 10_000 };

/** A host that lived as long is no sign of trouble when it ends. */
const STEADY_MS = 30_000;

/** One graph host that is kept: when its process ends another takes its place, after pauses that grow. */
export class Seat {
  readonly #parts: GraphProcessParts;
  readonly #backoff: Backoff;
  #process: GraphProcess;
  #ready = Promise.withResolvers<GraphProcess>();
  #isReady = false;
  #isStopped = false;
  #trouble: string | undefined;

  constructor(parts: GraphProcessParts) {
    this.#parts = parts;
    this.#backoff = new Backoff(parts.clock, PAUSES);
    this.#process = this.#seat();
  }

  /** The process of today; undefined while none has its graphs loaded. */
  get ready(): GraphProcess | undefined {
    return this.#isReady ? this.#process : undefined;
  }

  /** The next process with its graphs loaded. */
  get nextReady(): Promise<GraphProcess> {
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

  #seat(): GraphProcess {
    const process = new GraphProcess(this.#parts);
    const { clock, log } = this.#parts;
    const startedMs = clock.monotonicMs();
    process.loaded.then(
      () => {
        if (this.#isStopped) return;
        this.#isReady = true;
        this.#ready.resolve(process);
        log.info(
          { pid: process.pid, loadedMs: Math.round(clock.monotonicMs() - startedMs) },
          'graph host ready',
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
    const { clock, log } = this.#parts;
    if (this.#isStopped) return;
    metrics.agentGraphHostEnds.add(1);
    this.#trouble = end.message.split(';', 1)[0];
    if (this.#isReady) {
      this.#isReady = false;
      this.#ready = Promise.withResolvers();
      if (clock.monotonicMs() - startedMs > STEADY_MS) this.#backoff.reset();
    }
    const pauseMs = this.#backoff.nextMs();
    log.error({ error: end.message, pauseMs: Math.round(pauseMs) }, 'graph host ended; another is started');
    clock.after(pauseMs, () => {
      if (!this.#isStopped) this.#process = this.#seat();
    });
  }
}
