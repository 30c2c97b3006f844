import { describe, expect, it } from '@jest/globals';
import { NamedTurns, Turns } from './sql.js';
import { type Scope, EVERY_ROW } from './scope.js';
import { WORKER } from './worker-scope.js';

const of = (caller?: string): Scope => ({ kind: 'caller', filter: EVERY_ROW, caller });

/**
 * Takes the only place, requests more while it is taken, and returns the order in which these were served.
 */
async function orderOf(turns: Turns, asked: readonly (readonly [string, Scope])[]): Promise<string> {
  const served: string[] = [];
  const first = Promise.withResolvers<void>();
  const all = [
    turns.take(of('first'), () => first.promise),
    ...asked.map(([name, scope]) => turns.take(scope, async () => void served.push(name))),
  ];
  first.resolve();
  await Promise.all(all);
  return served.join(' ');
}

describe('Turns', () => {
  const turns = (maxWaiting = 10): Turns => new Turns({ places: 1, maxWaiting, what: 'Searches' });

  it('serves callers in turn, and each in the order of its requests', async () => {
    const asked = [
      ['a1', of('alice')],
      ['a2', of('alice')],
      ['a3', of('alice')],
      ['b1', of('bob')],
      ['b2', of('bob')],
    ] as const;
    expect(await orderOf(turns(), asked)).toBe('a1 b1 a2 b2 a3');
  });

  it('serves the server before callers', async () => {
    const asked = [
      ['a1', of('alice')],
      ['u1', of()],
      ['s1', WORKER],
      ['s2', WORKER],
    ] as const;
    expect(await orderOf(turns(), asked)).toBe('s1 s2 a1 u1');
  });

  it('refuses a caller that has too many waiting, and no other', async () => {
    const few = turns(1);
    const first = Promise.withResolvers<string>();
    const held = few.take(of('alice'), () => first.promise);
    const waiting = few.take(of('alice'), async () => 'second');
    await expect(few.take(of('alice'), async () => 'third')).rejects.toThrow(
      'Searches: 1 requests wait for their turn; retry',
    );
    const others = few.take(of('bob'), async () => 'of bob');
    first.resolve('first');
    expect(await Promise.all([held, waiting, others])).toEqual(['first', 'second', 'of bob']);
  });

  it('leaves a place to others where a caller may not take all', async () => {
    const turns = new Turns({ places: 3, maxWaiting: 10, what: 'Searches', placesPerCaller: 2 });
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) =>
      turns.take(of(name.charAt(0)), () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      }),
    );
    const end = async (name: string): Promise<void> => {
      ends.get(name)?.();
      await new Promise(setImmediate);
    };
    await new Promise(setImmediate);
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    await end('b1');
    expect(begun.slice(3)).toEqual(['b2']);
    await end('b2');
    expect(begun.slice(4)).toEqual([]);
    for (const name of ['a1', 'a2', 'a3']) await end(name);
    expect(begun.slice(4)).toEqual(['a3']);
    await Promise.all(all);
    expect(turns.isIdle).toBe(true);
  });

  it('lets the server and callers without names take every place', async () => {
    for (const scope of [WORKER, of()]) {
      const turns = new Turns({ places: 2, maxWaiting: 10, what: 'Searches', placesPerCaller: 1 });
      const held = Promise.withResolvers<string>();
      const first = turns.take(scope, () => held.promise);
      expect(await turns.take(scope, async () => 'second')).toBe('second');
      held.resolve('first');
      expect(await first).toBe('first');
    }
  });

  it('goes on after an action that fails', async () => {
    const one = turns();
    const failing = one.take(of('alice'), () => Promise.reject(new Error('no')));
    const next = one.take(of('bob'), async () => 'done');
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('done');
    expect(one.isIdle).toBe(true);
  });
});

describe('NamedTurns', () => {
  it('lets different names wait for nothing', async () => {
    const named = new NamedTurns();
    const held = Promise.withResolvers<string>();
    const first = named.take(of('alice'), 'one', () => held.promise);
    expect(await named.take(of('alice'), 'two', async () => 'done')).toBe('done');
    held.resolve('first');
    expect(await first).toBe('first');
  });
});
