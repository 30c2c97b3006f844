import { describe, expect, it } from '@jest/globals';
import { type Clock, systemClock } from '#lib/time';
import { FairTurns } from './fair-turns.js';

const under = new AbortController().signal;

let nowMs = 0;
const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };

function busy(ms: number): void {
  nowMs += ms;
}

describe('FairTurns', () => {
  it('serves the holder that has used least before many requests of another', async () => {
    const turns = new FairTurns(clock);
    const served: string[] = [];
    const ask = async (holder: string, ms: number): Promise<void> => {
      await turns.take(holder, under);
      busy(ms);
      served.push(holder);
    };
    const greedy = Array.from({ length: 30 }, () => ask('greedy', 5));
    await Promise.all(Array.from({ length: 5 }, () => ask('modest', 1)));
    const before = served.filter((holder) => holder === 'greedy').length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(8);
    await Promise.all(greedy);
    expect(served).toHaveLength(35);
  });

  it('saves up no turns for a holder that asked for nothing before', async () => {
    const turns = new FairTurns(clock);
    const served: string[] = [];
    const ask = async (holder: string): Promise<void> => {
      await turns.take(holder, under);
      busy(5);
      served.push(holder);
    };
    const old = Array.from({ length: 20 }, () => ask('old'));
    await old[9];
    const fresh = Array.from({ length: 20 }, () => ask('fresh'));
    await Promise.all(old);
    expect(served.slice(-10).filter((holder) => holder === 'fresh').length).toBeGreaterThan(2);
    await Promise.all(fresh);
    expect(served.slice(10, 20).filter((holder) => holder === 'old').length).toBeGreaterThan(2);
  });

  it('refuses a request that waited too long, and passes over one that has ended', async () => {
    const turns = new FairTurns(clock, 20);
    const left = new AbortController();
    const ask = async (ended: AbortSignal): Promise<void> => {
      await turns.take('one', ended);
      busy(30);
    };
    const asked = [ask(under), ask(left.signal), ask(under)];
    left.abort(new Error('left'));
    const [first, second, third] = await Promise.allSettled(asked);
    expect(first?.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { message: 'left' } });
    expect(third).toMatchObject({
      status: 'rejected',
      reason: { code: 429, details: { retryAfterSeconds: 1 } },
    });
    await ask(under);
  });
});
