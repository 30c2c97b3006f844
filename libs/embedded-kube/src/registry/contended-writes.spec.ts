import { describe, expect, it } from '@jest/globals';
import { ContendedWrites } from './open-watches.js';

describe('writes of one user to the same objects', () => {
  it('refuses those that would wait beyond the bound, and none to other objects or of others', async () => {
    const writes = new ContendedWrites(2);
    const held = Promise.withResolvers<void>();
    const write = (username: string, object: string, groups: string[] = []): Promise<number> =>
      writes
        .perform({ username, groups }, object, async () => held.promise)
        .then(
          () => 200,
          (error: { code: number }) => error.code,
        );
    const greedy = ['a', 'a', 'a'].map((object) => write('greedy', object));
    expect(await write('greedy', 'a')).toBe(429);
    const others = [
      write('greedy', 'b'),
      write('modest', 'a'),
      ...[1, 2, 3, 4].map(() => write('platform', 'a', ['system:masters'])),
    ];
    expect(await write('greedy', 'b')).toBe(429);
    held.resolve();
    expect(new Set(await Promise.all([...greedy, ...others]))).toEqual(new Set([200]));
    expect(await write('greedy', 'a')).toBe(200);
  });
});
