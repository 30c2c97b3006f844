import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { ProcessStarts } from './pace.js';

/** On which a start takes 10 ms. */
class StartClock extends FakeClock {
  #workedMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.#workedMs;
  }

  work(ms = 10): void {
    this.#workedMs += ms;
  }
}

describe('ProcessStarts', () => {
  let clock: StartClock;
  let starts: ProcessStarts;
  const began: string[] = [];
  beforeEach(() => {
    clock = new StartClock();
    starts = new ProcessStarts(clock, 4);
    began.splice(0);
  });

  const start = (uid: number, name: string, left?: AbortSignal): Promise<string> => {
    const step = (): string => {
      clock.work();
      began.push(name);
      return name;
    };
    return starts.start(uid, step, left);
  };

  it('starts one at a time, users in turns, and rests four times as long after each', async () => {
    const all = Promise.all(
      ['a1', 'a2', 'a3', 'b1'].map((name) => start(name.startsWith('a') ? 1 : 2, name)),
    );
    expect(began).toEqual(['a1']);
    await clock.advance(39);
    expect(began).toEqual(['a1']);
    await clock.advance(1);
    await clock.advance(40);
    await clock.advance(40);
    expect(began).toEqual(['a1', 'a2', 'b1', 'a3']);
    expect(await all).toEqual(['a1', 'a2', 'a3', 'b1']);
    await clock.advance(40);
    expect(await start(1, 'a4')).toBe('a4');
  });

  it('rests no longer than a second after a start in which this process was stopped', async () => {
    await starts.start(1, () => clock.work(3_600_000));
    const next = start(1, 'next');
    await clock.advance(1_000);
    expect(await next).toBe('next');
  });

  it('passes over what has left its line, and goes on after a start that fails', async () => {
    const left = new AbortController();
    const failed = starts.start(1, () => {
      throw new Error('no memory');
    });
    const [gone, other] = [start(1, 'gone', left.signal), start(2, 'other')];
    left.abort(new Error('stopped'));
    await expect(failed).rejects.toThrow('no memory');
    await expect(gone).rejects.toThrow('stopped');
    await clock.advance(1);
    expect(await other).toBe('other');
  });

  it('starts nothing for one that has left before, even when it is idle', async () => {
    const left = AbortSignal.abort(new Error('stopped'));
    await expect(start(1, 'gone', left)).rejects.toThrow('stopped');
    expect(began).toEqual([]);
  });
});
