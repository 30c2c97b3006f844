import { errorText } from '#lib/errors';
import type { Pool } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { foldStatistics } from './fold-statistics.js';

/**
 * Number of batches of this process after which it folds their sums: a reader adds up the rows that are not
 * folded.
 */
const BATCHES = 200;

/** Folds beside ingestion, one pass after the other. Tidying folds the rows that a process leaves behind. */
export class Folding {
  #batches = 0;
  #folding: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly log: Logger,
  ) {}

  /** Counts a batch. */
  noteBatch(): void {
    if (++this.#batches < BATCHES || this.#folding) return;
    this.#batches = 0;
    this.#folding = this.#fold();
  }

  /** Waits for the pass in progress. */
  async end(): Promise<void> {
    await this.#folding;
  }

  async #fold(): Promise<void> {
    try {
      await foldStatistics(this.pool);
    } catch (error) {
      this.log.warn({ problem: errorText(error) }, 'folding statistics failed; tidying will repeat it');
    } finally {
      this.#folding = undefined;
    }
  }
}
