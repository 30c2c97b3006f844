import { getHeapStatistics } from 'node:v8';
import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { collectWhenIdle, ownProcess } from './collect-when-idle.js';

const MB = 2 ** 20;

function programOf(heapBytes: number) {
  const clock = new FakeClock();
  const state = { cpuMs: 0, heapBytes, collections: 0 };
  collectWhenIdle(clock, {
    cpuMs: () => state.cpuMs,
    heapBytes: () => state.heapBytes,
    collect: () => {
      state.collections++;
      state.heapBytes = 30 * MB;
    },
  });
  return { clock, state };
}

describe('collectWhenIdle', () => {
  it('collects once after a start, and again once something was allocated', async () => {
    const { clock, state } = programOf(50 * MB);
    await clock.advance(10_000);
    expect(state.collections).toBe(1);
    await clock.advance(60_000);
    expect(state.collections).toBe(1);
    state.heapBytes += 5 * MB;
    await clock.advance(20_000);
    expect(state.collections).toBe(2);
  });

  it('leaves a program alone that works', async () => {
    const { clock, state } = programOf(50 * MB);
    state.cpuMs += 5_000;
    await clock.advance(10_000);
    expect(state.collections).toBe(0);
    await clock.advance(20_000);
    expect(state.collections).toBe(1);
  });

  it('collects in its own process', async () => {
    const clock = new FakeClock();
    let garbage: unknown = Array.from({ length: 400_000 }, (_none, n) => ({ n }));
    expect(garbage).toBeDefined();
    const before = getHeapStatistics().used_heap_size;
    garbage = undefined;
    const idle = { ...ownProcess(), cpuMs: () => 0 };
    collectWhenIdle(clock, idle);
    await clock.advance(10_000);
    expect(getHeapStatistics().used_heap_size).toBeLessThan(before - 8 * MB);
  });
});
