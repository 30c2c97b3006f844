import { FakeClock } from '#lib/testing';
import type { GraphProcessParts } from './graph-process.js';
import { Quarantine } from './quarantine.js';

describe('Quarantine', () => {
  it('forgets runs that do not come back within an hour', async () => {
    const clock = new FakeClock(new Date('2026-01-01T12:00:00Z'));
    const quarantine = new Quarantine({ clock } as unknown as GraphProcessParts);
    for (let crash = 0; crash < 100; crash++) {
      quarantine.accuse([`run ${crash}.1`, `run ${crash}.2`]);
      await clock.advance(60_000);
    }
    expect(quarantine.has('run 0.1')).toBe(false);
    expect(quarantine.has('run 99.2')).toBe(true);
    expect(quarantine.size).toBeLessThanOrEqual(2 * 61);
  });

  it('refuses a place whose process cannot be started, and goes on with the next', async () => {
    const parts = { clock: new FakeClock(), order: { folder: '/' } } as unknown as GraphProcessParts;
    const quarantine = new Quarantine(parts); // without a program
    for (const run of ['a', 'b']) {
      const { host, leave } = quarantine.enter(run);
      await expect(host).rejects.toThrow();
      leave(false);
    }
  });
});
