import type { Admission } from '#lib/admission';
import { errorText } from '#lib/errors';
import type { Pool, Queryable } from '#lib/postgres';
import { clientLeft, type Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/**
 * Work on stored rows of many tenants. The process that does a part of a tenant's work claims it for a while.
 */
export interface TenantWork {
  /** Name of the work, for logs of failures. */
  readonly what: string;
  /** Tenants that have pending work that no other process is doing. */
  tenants(): Promise<readonly string[]>;
  /**
   * Does a bounded part of one tenant's work, and postpones parts that fail.
   * @returns `troubled` after trouble of the database that may pass: the part is tried again in a later round
   */
  turn(tenantId: string): Promise<'troubled' | undefined>;
}

/** Time limit of one call; the next one continues, since tidying has other work to do. */
const LONGEST_MS = 5 * 60_000;
/** Pause after a round with trouble. */
const TROUBLE_MS = 1_000;

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
    private readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
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
      let isTroubled = false;
      for (const tenantId of tenants) {
        if (this.#isClosed || this.clock.monotonicMs() > endMs) return;
        if ((await this.work.turn(tenantId)) === 'troubled') isTroubled = true;
      }
      if (isTroubled) await this.clock.sleep(TROUBLE_MS);
    }
  }
}

/** Admits work on connections, a tenant at a time. */
export type InTurns = Pick<Admission, 'run'>;

/** Reads for requests: they leave their queue when their clients disconnect. */
export function readsOfRequests(turns: Admission): InTurns {
  return {
    run: (tenantId, work, options) => turns.run(tenantId, work, { ...options, signal: clientLeft() }),
  };
}

/** Owner of the progress of exports that the platform's programs read and write: they know runs, and no tenants. */
const EXPORTS = 'exports';

/** Marks a method that is not queued. */
export const AT_ONCE = Symbol('at once');

/** Owner of a method's calls if its first argument does not name a tenant, or `AT_ONCE`. */
type Owners<T> = { readonly [K in keyof T]?: string | typeof AT_ONCE };

/**
 * A proxy for a part of the store that queues each method call per tenant: the tenant is the first argument,
 * or its `tenantId`.
 */
export function inTurns<T extends object>(part: T, turns: InTurns, owners: Owners<T> = {}): T {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      const method = (...given: readonly unknown[]): unknown => Reflect.apply(member, target, given);
      const owner = owners[name as keyof T];
      const perform = (...given: readonly unknown[]): unknown =>
        turns.run(owner === undefined ? tenantOf(given[0]) : String(owner), async () => method(...given));
      return owner === AT_ONCE ? method : perform;
    },
  });
}

function tenantOf(first: unknown): string {
  return typeof first === 'string' ? first : (first as { readonly tenantId: string }).tenantId;
}

/** Queries about the progress of exports: a tenant with many of them delays no other. */
export function queriesInTurns(pool: Pick<Pool, 'query'>, turns: InTurns): (tenantId?: string) => Queryable {
  return (tenantId = EXPORTS) => {
    const query = (...given: Parameters<Queryable['query']>) =>
      turns.run(tenantId, async () => pool.query(...given));
    return { query: query as Queryable['query'] };
  };
}
