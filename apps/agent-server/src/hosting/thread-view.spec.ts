import { FakeClock } from '#lib/testing';
import { ThreadView } from './state-keeper.js';

describe('ThreadView', () => {
  const clock = new FakeClock();
  let view: ThreadView;

  beforeEach(() => {
    view = new ThreadView(clock);
  });

  const see = (givenUp: number, waiting = 0): void => view.see({ most: 64, waiting, givenUp });

  it('names calls that were given up from half of the threads on', () => {
    see(31);
    expect(view.describeStuck('calls')).toBeUndefined();
    see(32);
    expect(view.describeStuck('calls')).toMatch(/^32 of 64 threads hold calls that did not end/);
  });

  it('counts the time since all threads were held until less than half are', async () => {
    see(63);
    await clock.advance(60_000);
    expect(view.stuckMs).toBe(0);
    see(64);
    await clock.advance(20_000);
    see(40);
    await clock.advance(20_000);
    expect(view.stuckMs).toBe(40_000);
    see(31);
    expect(view.stuckMs).toBe(0);
  });

  it('counts the time since a call came to wait while all threads were held by calls that were given up', async () => {
    see(64);
    await clock.advance(20_000);
    see(64);
    expect(view.starvedMs).toBeUndefined();
    see(64, 1);
    expect(view.starvedMs).toBe(0);
    await clock.advance(20_000);
    // without reports the state is unknown: this process may have been suspended
    expect(view.starvedMs).toBe(0);
    see(64, 0);
    expect(view.starvedMs).toBe(20_000);
    see(63, 1);
    expect(view.starvedMs).toBeUndefined();
  });

  it('names calls that have waited for half a minute', async () => {
    see(0, 3);
    await clock.advance(29_000);
    see(2, 5);
    expect(view.describeWaiting('nodes')).toBeUndefined();
    await clock.advance(1_000);
    expect(view.describeWaiting('nodes')).toMatch(
      /^5 nodes wait for one of 64 threads, for 30 s now; .*2 of/,
    );
    see(2, 0);
    see(2, 5);
    expect(view.describeWaiting('nodes')).toBeUndefined();
  });
});
