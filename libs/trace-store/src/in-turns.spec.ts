import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Admission } from '#lib/admission';
import type { Pool } from '#lib/postgres';
import { AT_ONCE, inTurns, queriesInTurns } from './in-turns.js';

/** A part of a store whose answers never come. */
class Silent {
  readonly #asked: unknown[] = [];

  list(tenantId: string): Promise<never> {
    return this.#ask(`list ${tenantId}`);
  }

  store({ tenantId }: { readonly tenantId: string }): Promise<never> {
    return this.#ask(`store ${tenantId}`);
  }

  open(token: string): Promise<never> {
    return this.#ask(`open ${token}`);
  }

  check(token: string): readonly unknown[] {
    return [...this.#asked, token];
  }

  #ask(what: string): Promise<never> {
    this.#asked.push(what);
    return new Promise(() => undefined);
  }
}

describe('turns of tenants', () => {
  it('has each method wait for a turn of its tenant, of a named owner, or not at all', () => {
    const part = inTurns(new Silent(), new Admission({ capacity: 4, halves: true }), {
      open: 'links',
      check: AT_ONCE,
    });
    for (const tenant of ['a', 'a', 'a']) void part.list(tenant);
    for (const tenantId of ['a', 'b']) void part.store({ tenantId });
    for (const token of ['x', 'y']) void part.open(token);
    expect(part.check('z')).toEqual(['list a', 'list a', 'store b', 'open x', 'z']);
  });

  it('lets a tenant that asks for much progress of exports delay no other', async () => {
    const asked: unknown[] = [];
    const query = (...given: unknown[]): Promise<never> => {
      asked.push(given[1]);
      return new Promise(() => undefined);
    };
    const turns = new Admission({ capacity: 4, halves: true });
    const queries = queriesInTurns({ query } as Pick<Pool, 'query'>, turns);
    for (const tenant of ['a', 'a', 'a', 'a', 'b', undefined])
      void queries(tenant).query('SELECT $1', [tenant]);
    await settled();
    expect(asked).toEqual([['a'], ['a'], ['b'], [undefined]]);
  });
});
