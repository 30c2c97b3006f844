import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import type { Clock } from '#lib/time';
import { collectWhenIdle } from './collect-when-idle.js';

const MB = 2 ** 20;

function programOf(heapBytes: number) {
  const clock = new FakeClock();
  const state = { cpuMs: 0, heapBytes, collections: 0, deep: 0, alive: 30 * MB, takesMs: 0 };
  let tookMs = 0;
  const timed: Clock = {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs() + tookMs,
    after: (ms, callback) => clock.after(ms, callback),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  const collect = (): void => {
    state.collections++;
    tookMs += state.takesMs;
    state.heapBytes = state.alive;
  };
  collectWhenIdle(timed, {
    cpuMs: () => state.cpuMs,
    heapBytes: () => state.heapBytes,
    collect,
    collectAll: () => {
      state.deep++;
      collect();
    },
  });
  return { clock, state };
}

describe('collectWhenIdle', () => {
  it('collects once after a start, and again once something was allocated', async () => {
    const { clock, state } = programOf(50 * MB);
    await clock.advance(10_000);
    expect(state.collections).toBe(1);
    await clock.advance(40_000);
    expect(state.collections).toBe(1);
    state.heapBytes += 8 * MB;
    await clock.advance(20_000);
    expect(state.collections).toBe(2);
  });

  it('gives back all it can after a minute and after some more, until it works again', async () => {
    const { clock, state } = programOf(50 * MB);
    await clock.advance(50_000);
    expect(state.deep).toBe(0);
    await clock.advance(20_000);
    expect(state.deep).toBe(1);
    state.heapBytes += 8 * MB;
    await clock.advance(280_000);
    expect(state).toMatchObject({ deep: 1, collections: 3 });
    await clock.advance(600_000);
    expect(state).toMatchObject({ deep: 2, collections: 4 });
    state.cpuMs += 5_000;
    await clock.advance(20_000);
    await clock.advance(60_000);
    expect(state.deep).toBe(3);
  });

  it('leaves a program alone that works', async () => {
    const { clock, state } = programOf(50 * MB);
    state.cpuMs += 5_000;
    await clock.advance(10_000);
    expect(state.collections).toBe(0);
    await clock.advance(20_000);
    expect(state.collections).toBe(1);
  });

  it('collects a large heap for a quarter of it alone', async () => {
    const { clock, state } = programOf(50 * MB);
    state.alive = 1000 * MB;
    await clock.advance(10_000);
    state.heapBytes += 200 * MB;
    await clock.advance(60_000);
    expect(state.collections).toBe(1);
    state.heapBytes += 60 * MB;
    await clock.advance(20_000);
    expect(state.collections).toBe(2);
  });

  it('waits a hundred times as long as its last collection took', async () => {
    const { clock, state } = programOf(50 * MB);
    state.takesMs = 1_000;
    await clock.advance(10_000);
    state.heapBytes += 50 * MB;
    await clock.advance(80_000);
    expect(state.collections).toBe(1);
    await clock.advance(40_000);
    expect(state.collections).toBe(2);
  });
});
