import type { Clock } from '#lib/time';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that moves only when told to: `advance(ms)` fires the due timers in order. */
export class FakeClock implements Clock {
  #nowMs: number;
  #monotonicMs = 0;
  #timers: Timer[] = [];

  constructor(start: Date | string = '2026-01-01T00:00:00Z') {
    this.#nowMs = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#nowMs);
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#monotonicMs + ms, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const cancel = this.after(ms, resolve);
      signal?.addEventListener('abort', () => (cancel(), reject(signal.reason as Error)), { once: true });
    });
  }

  /** Number of waiting timers. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves the time; between two timers, promises that they settled are run. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonicMs + ms;
    for (;;) {
      await settle();
      const [due] = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at);
      if (!due) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#move(Math.max(0, due.at - this.#monotonicMs));
      due.callback();
    }
    this.#move(end - this.#monotonicMs);
    await settle();
  }

  /** The process is stopped, as under SIGSTOP; timers that were due meanwhile fire late. */
  async standStill(ms: number): Promise<void> {
    this.#move(ms);
    await this.advance(0);
  }

  /** The wall clock alone is set forward, or back; nothing falls due by that. */
  step(ms: number): void {
    this.#nowMs += ms;
  }

  #move(ms: number): void {
    this.#nowMs += ms;
    this.#monotonicMs += ms;
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}
