import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { Backoff } from './backoff.js';

const fixed = { firstMs: 100, longestMs: 1_000, jitter: 0 };

describe('a back-off', () => {
  it('doubles each pause up to the longest', () => {
    const backoff = new Backoff(new FakeClock(), fixed);
    expect(Array.from({ length: 6 }, () => backoff.nextMs())).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    expect(backoff.failures).toBe(6);
  });

  it('starts with the first pause again after a reset', () => {
    const backoff = new Backoff(new FakeClock(), fixed);
    backoff.nextMs();
    backoff.nextMs();
    backoff.reset();
    expect(backoff.failures).toBe(0);
    expect(backoff.nextMs()).toBe(100);
  });

  it('keeps a pause finite after very many failures', () => {
    const backoff = new Backoff(new FakeClock(), { ...fixed, firstMs: 0 });
    for (let failure = 0; failure < 2_000; failure++) expect(backoff.nextMs()).toBe(0);
  });

  it('spreads its pauses by the jitter around the middle', () => {
    const pauseAt = (chance: number): number =>
      new Backoff(new FakeClock(), { firstMs: 100, longestMs: 1_000, random: () => chance }).nextMs();
    expect([0, 0.5, 0.75].map(pauseAt)).toEqual([90, 100, 105]);
  });

  it('pauses on the clock it was given', async () => {
    const clock = new FakeClock();
    let isOver = false;
    const pause = new Backoff(clock, fixed).pause().then(() => (isOver = true));
    await clock.advance(99);
    expect(isOver).toBe(false);
    await clock.advance(1);
    await pause;
  });

  it('ends a pause with the reason of an aborted signal', async () => {
    const stop = new AbortController();
    const pause = new Backoff(new FakeClock(), fixed).pause(stop.signal);
    stop.abort(new Error('stopping'));
    await expect(pause).rejects.toThrow('stopping');
  });
});
