import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock } from './clock.js';

const YEAR_MS = 365 * 86_400_000;

describe('systemClock', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('calls back after a year, and not before', () => {
    let calls = 0;
    systemClock.after(YEAR_MS, () => calls++);
    jest.advanceTimersByTime(YEAR_MS - 1);
    expect(calls).toBe(0);
    jest.advanceTimersByTime(1);
    expect(calls).toBe(1);
  });

  it('keeps sleeping for a year, and rejects when the signal is aborted', async () => {
    const over = new AbortController();
    const sleeps = systemClock.sleep(YEAR_MS, over.signal);
    jest.advanceTimersByTime(YEAR_MS / 2);
    over.abort(new Error('aborted'));
    await expect(sleeps).rejects.toThrow('aborted');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('never calls back when cancelled in any part of the wait', () => {
    let calls = 0;
    const cancels = [0, 1].map(() => systemClock.after(YEAR_MS, () => calls++));
    cancels[0]?.();
    jest.advanceTimersByTime(YEAR_MS / 2);
    cancels[1]?.();
    jest.advanceTimersByTime(YEAR_MS);
    expect(calls).toBe(0);
  });

  it('never calls back after an infinite time', () => {
    let calls = 0;
    const cancel = systemClock.after(Infinity, () => calls++);
    jest.advanceTimersByTime(YEAR_MS);
    expect(calls).toBe(0);
    cancel();
    expect(jest.getTimerCount()).toBe(0);
  });
});
