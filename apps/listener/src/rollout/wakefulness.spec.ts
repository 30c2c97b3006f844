import { Wakefulness } from './ready-spans.js';

const at = (seconds: number): Date => new Date(seconds * 1000);

describe('Wakefulness', () => {
  it.each<[string, readonly number[], number]>([
    ['holds nothing back at first: a restart must not extend deadlines', [1000], 0],
    ['holds nothing back while passes come', [1000, 1022, 1044, 1100], 0],
    ['begins anew after a long gap', [1000, 1020, 4000], 4000],
    ['begins anew when the clock is set back', [4000, 4020, 420, 440], 420],
    ['goes on from there', [1000, 1020, 4000, 4020, 4040], 4000],
  ])('%s', (_, looks, since) => {
    const wakefulness = new Wakefulness(30_000);
    expect(looks.map((seconds) => wakefulness.look(at(seconds), false)).at(-1)?.awakeSinceMs).toBe(
      since * 1000,
    );
  });

  it('counts no time in which the API server could not be followed', () => {
    const wakefulness = new Wakefulness(30_000);
    wakefulness.look(at(1000), false);
    wakefulness.look(at(1020), true);
    expect(wakefulness.look(at(1040), true).awakeSinceMs).toBe(1_040_000);
    expect(wakefulness.look(at(1060), false).awakeSinceMs).toBe(1_040_000);
  });

  it('grants a grace after the first look alone', () => {
    const wakefulness = new Wakefulness(30_000);
    expect(wakefulness.look(at(1000), false).graceUntilMs).toBe(1_030_000);
    expect(wakefulness.look(at(1020), false).graceUntilMs).toBe(1_030_000);
  });
});
