import type { Clock } from '#lib/time';

const REFRESH_MS = 30_000;

/**
 * The database's clock without a question for each pass: asked every half minute, and counted on from there by the
 * machine's own. Decisions about rows and time-outs need no more than that; a machine that slept is late by its sleep
 * for half a minute at most.
 */
export class DatabaseTime {
  #known: { readonly timeMs: number; readonly atMs: number } | undefined;

  constructor(
    private readonly ask: () => Promise<Date>,
    private readonly clock: Clock,
  ) {}

  async now(): Promise<Date> {
    const atMs = this.clock.monotonicMs();
    if (this.#known && atMs - this.#known.atMs < REFRESH_MS)
      return new Date(this.#known.timeMs + atMs - this.#known.atMs);
    const time = await this.ask();
    this.#known = { timeMs: time.getTime(), atMs: this.clock.monotonicMs() };
    return time;
  }
}
