import { getHeapStatistics } from 'node:v8';
import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { collectWhenIdle, ownProcess } from './collect-when-idle.js';

const MB = 2 ** 20;

describe('collectWhenIdle', () => {
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
