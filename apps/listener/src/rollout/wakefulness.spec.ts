import { Wakefulness } from './wakefulness.js';

const at = (seconds: number): Date => new Date(seconds * 1000);

describe('Wakefulness', () => {
  it.each<[string, readonly number[], number]>([
    ['holds nothing back at first: a restart must not extend deadlines', [1000], 0],
    ['holds nothing back while passes come', [1000, 1022, 1044, 1100], 0],
    ['begins anew after a long gap', [1000, 1020, 4000], 4000],
    ['goes on from there', [1000, 1020, 4000, 4020, 4040], 4000],
  ])('%s', (_, looks, since) => {
    const wakefulness = new Wakefulness();
    expect(looks.map((seconds) => wakefulness.look(at(seconds))).at(-1)).toBe(since * 1000);
  });
});
