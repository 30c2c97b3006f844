import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { NoAnswerError } from './no-answer-error.js';
import { retryWhileUnavailable } from './await-database.js';

const never = new Promise<void>(() => undefined);
const unavailable = new NoAnswerError(new Error('connection refused'));

describe('retryWhileUnavailable', () => {
  /** Performs these steps in turn; the last one again and again. */
  function begin(steps: readonly (() => Promise<void>)[], patienceMs = 120_000) {
    const clock = new FakeClock();
    const found: string[] = [];
    let tries = 0;
    let outcome = 'waits';
    retryWhileUnavailable({ clock, patienceMs, report: (text) => void found.push(text) }, () => {
      const step = steps[Math.min(tries++, steps.length - 1)];
      return step ? step() : never;
    }).then(
      () => (outcome = 'done'),
      (error: Error) => (outcome = error.message),
    );
    return { clock, found, tries: () => tries, outcome: () => outcome };
  }

  it('leaves a step that hangs, and tries again beside it', async () => {
    const run = begin([() => never, () => never, () => Promise.resolve()]);
    await run.clock.advance(29_000);
    expect(run.tries()).toBe(1);
    await run.clock.advance(1_000);
    expect([run.tries(), run.outcome()]).toEqual([2, 'waits']);
    await run.clock.advance(60_000);
    expect([run.tries(), run.outcome()]).toEqual([3, 'done']);
    expect(run.found).toEqual(['no answer for 30 s', 'no answer for 60 s']);
  });

  it('takes the end of a slow step while the one beside it hangs, long after its patience', async () => {
    const slow = Promise.withResolvers<void>();
    const run = begin([() => slow.promise, () => never], 10_000);
    await run.clock.advance(1_000_000);
    expect(run.outcome()).toBe('waits');
    slow.resolve();
    await run.clock.advance(0);
    expect(run.outcome()).toBe('done');
  });

  it('tries a step that fails until its patience ends', async () => {
    const run = begin([() => Promise.reject(unavailable)], 10_000);
    await run.clock.advance(9_000);
    expect(run.outcome()).toBe('waits');
    expect(run.tries()).toBeGreaterThan(3);
    await run.clock.advance(6_000);
    expect(run.outcome()).toBe('the database gave no answer');
  });

  it('reports the failure of a step that was left behind', async () => {
    const late = Promise.withResolvers<void>();
    const run = begin([() => late.promise, () => never]);
    await run.clock.advance(31_000);
    late.reject(new Error('a mistake'));
    await run.clock.advance(0);
    expect(run.outcome()).toBe('a mistake');
  });
});
