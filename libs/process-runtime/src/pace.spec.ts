import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { Pace } from './pace.js';

/** On which every look costs a millisecond. */
class SlowClock extends FakeClock {
  readonly rests: number[] = [];
  #ms = 0;

  override monotonicMs(): number {
    return ++this.#ms;
  }

  override sleep(ms: number): Promise<void> {
    this.rests.push(ms);
    return Promise.resolve();
  }
}

describe('Pace', () => {
  it('rests as long as it worked, each time that it worked for a while', async () => {
    const clock = new SlowClock();
    const pace = new Pace(clock);
    for (let step = 0; step < 100; step++) await pace.step();
    expect(clock.rests.length).toBeGreaterThan(8);
    expect(clock.rests.every((ms) => ms === 10)).toBe(true);
    expect(pace.workedMs).toBeGreaterThanOrEqual(90);
  });
});
