import { createLogger } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import { Seat } from './seat.js';

describe('Seat', () => {
  it('goes on when a process cannot be started', async () => {
    const clock = new FakeClock();
    const ends: ((error: Error) => void)[] = [];
    let made = 0;
    const make = (): ConstructorParameters<typeof Seat>[0]['make'] extends () => infer P ? P : never => {
      if (++made === 2) throw new Error('ENOMEM');
      const { promise: ended, resolve } = Promise.withResolvers<Error>();
      ends.push(resolve);
      return {
        pid: made,
        loaded: Promise.resolve(),
        ended,
        describeLoad: () => undefined,
        kill: () => undefined,
        leave: async () => undefined,
      };
    };
    const seat = new Seat({ name: 'host', make, clock, log: createLogger('test', 'silent') });
    await clock.advance(0);
    ends[0]?.(new Error('ended'));
    await clock.advance(150);
    expect([made, seat.ready, seat.trouble]).toEqual([2, undefined, 'host cannot be started: ENOMEM']);
    await clock.advance(1_000);
    expect([made, seat.ready?.pid, seat.trouble]).toEqual([3, 3, undefined]);
  });
});
