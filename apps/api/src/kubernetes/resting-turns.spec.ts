import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { RestingTurns } from './resting-turns.js';

describe('RestingTurns', () => {
  it('gives one owner a tenth of the time, and keeps no other waiting', async () => {
    const clock = new FakeClock();
    const turns = new RestingTurns(clock);
    const begun: string[] = [];
    const costly = (owner: string, takesMs: number) =>
      turns.take(owner, async () => {
        begun.push(`${owner} at ${clock.monotonicMs()}`);
        await clock.sleep(takesMs);
      });
    void [costly('a', 100), costly('a', 100), costly('a', 100)];
    await clock.advance(50);
    void costly('b', 10);
    await clock.advance(10_000);
    void costly('a', 100);
    await clock.advance(0);
    expect(begun).toEqual(['a at 0', 'b at 50', 'a at 1000', 'a at 2000', 'a at 10050']);
  });

  it('rests shortly after work that failed, and skips work whose caller left', async () => {
    const clock = new FakeClock();
    const turns = new RestingTurns(clock);
    const leaving = new AbortController();
    const failed = turns.take('a', async () => {
      await clock.sleep(30_000);
      throw new Error('no answer');
    });
    let hasRun = false;
    const left = turns.take('a', async () => (hasRun = true), leaving.signal);
    const next = turns.take('a', async () => clock.monotonicMs());
    leaving.abort(new Error('left'));
    const ends = Promise.allSettled([failed, left, next]);
    await clock.advance(40_000);
    expect((await ends).map((end) => (end.status === 'fulfilled' ? end.value : `${end.reason}`))).toEqual([
      'Error: no answer',
      'Error: left',
      32_000,
    ]);
    expect(hasRun).toBe(false);
  });
});
