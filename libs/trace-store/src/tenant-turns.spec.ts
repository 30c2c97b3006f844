import { describe, expect, it } from '@jest/globals';
import type { Pool } from '#lib/postgres';
import { queriesInTurns } from './in-turns.js';
import { TenantTurns } from './tenant-turns.js';

/** Work that begins when it has its turn, and ends when it is told to. */
class Works {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly #turns: TenantTurns;

  constructor(turns: number) {
    this.#turns = new TenantTurns(turns);
  }

  ask(...names: string[]): void {
    for (const name of names)
      void this.#turns.run(name.charAt(0), () => {
        this.begun.push(name);
        return new Promise<void>((resolve) => this.#ends.set(name, resolve));
      });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    await new Promise(setImmediate);
  }
}

describe('turns of tenants', () => {
  it('gives a tenant alone half of them, and each further one half of the rest', () => {
    const works = new Works(8);
    works.ask('a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2', 'b3', 'c1', 'c2', 'd1', 'e1');
    expect(works.begun).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1', 'd1']);
  });

  it('serves who waits in turn, and each in its order', async () => {
    const works = new Works(2);
    works.ask('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
    expect(works.begun).toEqual(['a1', 'b1']);
    for (const name of ['a1', 'b1', 'a2', 'b2', 'c1']) await works.end(name);
    expect(works.begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3']);
  });

  it('gives the turn back when work fails', async () => {
    const turns = new TenantTurns(1);
    await expect(turns.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(turns.run('b', () => Promise.resolve('served'))).resolves.toBe('served');
  });

  it('forgets work whose client has gone, and serves who waits behind them', async () => {
    const turns = new TenantTurns(2);
    const held = Promise.withResolvers<void>();
    const first = turns.run('a', () => held.promise);
    const left = new AbortController();
    const gone = turns.run('a', async () => 'read', left.signal);
    const next = turns.run('a', async () => 'served');
    left.abort(new Error('left'));
    await expect(gone).rejects.toThrow('left');
    held.resolve();
    await expect(next).resolves.toBe('served');
    await first;
  });

  it('lets a tenant that asks for much progress of exports delay no other', async () => {
    const asked: unknown[] = [];
    const query = (...given: unknown[]): Promise<never> => {
      asked.push(given[1]);
      return new Promise(() => undefined);
    };
    const queries = queriesInTurns({ query } as Pick<Pool, 'query'>, new TenantTurns(4));
    for (const tenant of ['a', 'a', 'a', 'a', 'b', undefined])
      void queries(tenant).query('SELECT $1', [tenant]);
    await new Promise(setImmediate);
    expect(asked).toEqual([['a'], ['a'], ['b'], [undefined]]);
  });
});
