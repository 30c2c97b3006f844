import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/**
 * Work on stored rows of many tenants. The process that does a part of a tenant's work claims it for a while.
 */
export interface TenantWork {
  /** Name of the work, for logs of failures. */
  readonly what: string;
  /** Tenants that have pending work that no other process is doing. */
  tenants(): Promise<readonly string[]>;
  /** Does a bounded part of one tenant's work, and postpones parts that fail. */
  turn(tenantId: string): Promise<void>;
}

/** Time limit of one call; the next one continues, since tidying has other work to do. */
const LONGEST_MS = 5 * 60_000;

/**
 * Does the work of tenants round-robin: each yields to all others after a few pieces, so a tenant with
 * millions of rows does not hold up the others. One of these is at work in a process at a time; any number of
 * processes may be.
 */
export class TenantRounds {
  /** The call that has begun last, or will. */
  #last: Promise<void> = Promise.resolve();
  /** The call that has not begun. */
  #next: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    private readonly work: TenantWork,
    private readonly log: Logger,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /** Does the pending work, after a call in progress. */
  complete(): Promise<void> {
    this.#next ??= this.#last
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#rounds();
      });
    return (this.#last = this.#next);
  }

  /** The same in the background. */
  begin(): void {
    this.complete().catch((error: unknown) => {
      const problem = errorText(error);
      this.log.warn({ problem }, `${this.work.what} failed; the next tidying tries again`);
    });
  }

  /** Resolves when the turn in progress has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last.catch(() => {});
  }

  async #rounds(): Promise<void> {
    const endMs = this.clock.monotonicMs() + LONGEST_MS;
    for (;;) {
      const tenants = this.#isClosed ? [] : await this.work.tenants();
      if (tenants.length === 0) return;
      for (const tenantId of tenants) {
        if (this.#isClosed || this.clock.monotonicMs() > endMs) return;
        await this.work.turn(tenantId);
      }
    }
  }
}
