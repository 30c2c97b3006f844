import { describe, expect, it } from '@jest/globals';
import { makeSlowly } from './own-writes.js';

describe('makeSlowly', () => {
  it('makes all, twice as many at a time', async () => {
    let [running, most, next] = [0, 0, 0];
    const make = async (): Promise<number> => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      return next++;
    };
    expect((await makeSlowly(10, make)).made.toSorted((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
    expect(most).toBe(4);
    expect(await makeSlowly(0, make)).toEqual({ made: [] });
  });

  it('asks no more once one has failed', async () => {
    let asked = 0;
    const refused = new Error('quota');
    const make = (): Promise<number> => (++asked > 4 ? Promise.reject(refused) : Promise.resolve(asked));
    expect(await makeSlowly(500, make)).toEqual({ made: [1, 2, 3, 4], problem: refused });
    expect(asked).toBe(7);
  });
});
