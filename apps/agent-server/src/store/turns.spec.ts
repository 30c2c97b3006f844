import { describe, expect, it } from '@jest/globals';
import { NamedTurns } from './named-turns.js';
import type { Scope } from './scope.js';
import { EVERY_ROW } from './sql-filter.js';
import { Turns } from './turns.js';
import { WORKER } from './worker-scope.js';

const of = (caller?: string): Scope => ({ kind: 'caller', filter: EVERY_ROW, caller });

/** Takes the only place, asks for more while it is taken, and tells in which order these were served. */
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
