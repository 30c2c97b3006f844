import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { DatabaseTime } from './database-time.js';

describe('DatabaseTime', () => {
  it('asks the database once in half a minute and counts on from there', async () => {
    const clock = new FakeClock();
    const answers = ['2026-01-01T00:00:00Z', '2026-01-01T09:00:00Z'];
    const time = new DatabaseTime(() => Promise.resolve(new Date(answers.shift() ?? '')), clock);
    const clockTime = async (): Promise<string> => (await time.now()).toISOString().slice(11, 19);
    expect(await clockTime()).toBe('00:00:00');
    await clock.advance(29_000);
    expect(await clockTime()).toBe('00:00:29');
    expect(answers).toHaveLength(1);
    await clock.advance(1_000);
    expect(await clockTime()).toBe('09:00:00');
  });

  it('rejects when the database does not answer', async () => {
    const time = new DatabaseTime(() => Promise.reject(new Error('connection refused')), new FakeClock());
    await expect(time.now()).rejects.toThrow('connection refused');
  });
});
