import type { Admission } from '#lib/admission';
import type { Pool, Queryable } from '#lib/postgres';
import { clientLeft } from '#lib/telemetry';

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
