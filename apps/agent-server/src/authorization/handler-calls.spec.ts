import { createLogger } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import { HandlerCalls } from './authorization.js';

describe('HandlerCalls', () => {
  const log = createLogger('test', 'silent');
  const never = (): Promise<never> => new Promise(() => undefined);

  /** Counts the admitted calls of a number of calls, all of which wait. */
  function admitted(calls: HandlerCalls, caller: string | undefined, count: number): () => number {
    let refused = 0;
    for (let at = 0; at < count; at++)
      calls.perform({ caller }, 'The handler', never, Boolean).catch(() => refused++);
    return () => count - refused;
  }

  it('leaves places to others where one caller takes all that it can', async () => {
    const clock = new FakeClock();
    const calls = new HandlerCalls({ clock, log });
    const many = admitted(calls, 'ann', 1_000);
    const other = admitted(calls, 'bob', 100);
    await clock.advance(0);
    expect([many(), other()]).toEqual([250, 100]);
  });

  it('leaves some to each caller where many take all', async () => {
    const clock = new FakeClock();
    const calls = new HandlerCalls({ clock, log });
    const many = ['a', 'b', 'c', 'd'].map((caller) => admitted(calls, caller, 300));
    const [late, nameless] = [admitted(calls, 'late', 100), admitted(calls, undefined, 10)];
    await clock.advance(0);
    expect(many.map((one) => one())).toEqual([250, 250, 250, 250]);
    expect([late(), nameless()]).toEqual([10, 0]);
    // calls beyond their time count no more
    await clock.advance(10_000);
    const again = admitted(calls, 'late', 100);
    await clock.advance(0);
    expect(again()).toBe(100);
  });
});
