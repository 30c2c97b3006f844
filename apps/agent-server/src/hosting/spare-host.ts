import { getHeapStatistics } from 'node:v8';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import type { Seated } from './seat.js';

/** The first pause is long: the host that replaces the ended one, and that of accused runs, load before the spare. */
const PAUSES = { firstMs: 5_000, longestMs: 300_000 };

/** Free memory, and limit of a heap, from which a second host is affordable; one takes 120 MB and more. */
const MIN_BYTES = 2 ** 30;

function hasMemory(): boolean {
  return Math.min(process.availableMemory(), getHeapStatistics().heap_size_limit) >= MIN_BYTES;
}

export interface SpareHostParts<P extends Seated> {
  readonly make: () => P;
  /** True while the machine has memory for one; asked before each start. */
  readonly hasMemory?: (() => boolean) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * A loaded host that waits for the end of another. It is kept from the first end on: agents whose hosts live pay
 * nothing, and those that end theirs once mostly do so again.
 *
 * absent ─ `keep`, pause ─► loading ─► waiting ─ `take` ─► absent. One that ends, does not load or finds no memory is
 * tried again after pauses that grow.
 */
export class SpareHost<P extends Seated> {
  readonly #pauses: Backoff;
  #process: P | undefined;
  #isLoaded = false;
  #isKept = false;
  #isStopped = false;
  #cancelLoad: (() => void) | undefined;

  constructor(private readonly parts: SpareHostParts<P>) {
    this.#pauses = new Backoff(parts.clock, PAUSES);
  }

  keep(): void {
    if (this.#isKept) return;
    this.#isKept = true;
    this.#loadLater();
  }

  /** The host, which is loaded and not kept any longer; another follows. Undefined while none waits. */
  take(): P | undefined {
    const process = this.#process;
    if (!process || !this.#isLoaded) return undefined;
    this.#process = undefined;
    this.#pauses.reset();
    this.#loadLater();
    return process;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelLoad?.();
    await this.#process?.leave();
  }

  #loadLater(): void {
    if (this.#isStopped) return;
    this.#cancelLoad = this.parts.clock.after(this.#pauses.nextMs(), () => this.#load());
  }

  #load(): void {
    const { log, hasMemory: isAffordable = hasMemory } = this.parts;
    if (!isAffordable()) {
      log.warn('no memory for a spare graph host; looking again later');
      return this.#loadLater();
    }
    try {
      const process = this.parts.make();
      this.#process = process;
      this.#isLoaded = false;
      process.loaded.then(
        () => {
          this.#isLoaded = true;
          log.info({ pid: process.pid }, 'spare graph host ready');
        },
        (error: unknown) => {
          log.warn({ error: errorText(error) }, 'spare graph host did not load; another follows');
          process.kill();
        },
      );
      void process.ended.then(() => this.#ended(process));
    } catch (error) {
      log.warn({ error: errorText(error) }, 'spare graph host cannot be started');
      this.#loadLater();
    }
  }

  #ended(process: P): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    this.#loadLater();
  }
}
