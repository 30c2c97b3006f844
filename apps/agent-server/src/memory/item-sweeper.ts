import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { sweepItems } from '../store/item/items.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

const MS_PER_MINUTE = 60_000;

/** Milliseconds between two statements of one sweep: runs in progress come first. */
const PAUSE_MS = 50;

export interface ItemSweeperParts {
  readonly sql: Sql;
  readonly intervalMinutes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Removes expired items of the store. They are already invisible: removing them only frees disk. */
export class ItemSweeper {
  #cancel: (() => void) | undefined;
  #isStopped = false;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(private readonly parts: ItemSweeperParts) {}

  start(): void {
    this.#schedule(this.parts.intervalMinutes * MS_PER_MINUTE);
  }

  /** Resolves when no statement is in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#sweeping;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.parts.clock.after(delayMs, () => {
      this.#sweeping = this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    const { sql, intervalMinutes, log } = this.parts;
    let hasMore = false;
    try {
      hasMore = await sweepItems(WORKER, sql);
    } catch (error) {
      log.warn({ error: errorText(error) }, 'removing expired items of the store failed');
    }
    this.#schedule(hasMore ? PAUSE_MS : intervalMinutes * MS_PER_MINUTE);
  }
}
