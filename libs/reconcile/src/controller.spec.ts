import { describe, expect, it } from '@jest/globals';
import { TerminalError, WaitingError } from '#lib/errors';
import { FakeClock } from '#lib/testing';
import {
  after,
  Controller,
  type ControllerOptions,
  done,
  type Failure,
  type PassReport,
  wait,
} from './controller.js';
import { keyText } from '#lib/resources';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

interface Harness {
  readonly controller: Controller;
  readonly clock: FakeClock;
  readonly passes: string[];
  readonly reports: PassReport[];
  readonly failures: Failure[];
}

function harness(reconcile: ControllerOptions['reconcile'], more: Partial<ControllerOptions> = {}): Harness {
  const clock = new FakeClock();
  const passes: string[] = [];
  const reports: PassReport[] = [];
  const failures: Failure[] = [];
  const controller = new Controller({
    name: 'test',
    clock,
    log: silent,
    random: () => 0.5,
    backoff: { firstMs: 100, longestMs: 1_000 },
    onPass: (report) => reports.push(report),
    reports: { failed: (_key, failure) => void failures.push(failure), ended: () => undefined },
    reconcile: async (key, context) => {
      passes.push(keyText(key));
      return await reconcile(key, context);
    },
    ...more,
  });
  controller.start();
  return { controller, clock, passes, reports, failures };
}

const A = { namespace: 'ns', name: 'a' };
const B = { namespace: 'ns', name: 'b' };

describe('Controller', () => {
  it('yields the event loop between passes that wait for nothing', async () => {
    let spentMs = 0;
    const slow = new FakeClock();
    const { controller, passes } = harness(
      async () => {
        spentMs += 4;
        return done();
      },
      {
        clock: {
          ...slow,
          monotonicMs: () => spentMs,
          now: () => slow.now(),
          after: (...given) => slow.after(...given),
          sleep: (...given) => slow.sleep(...given),
        },
      },
    );
    for (let n = 0; n < 1_000; n++) controller.enqueue({ namespace: 'ns', name: `n${n}` });
    await new Promise((resolve) => setImmediate(resolve));
    expect(passes.length).toBeLessThan(20);
    await controller.stop(0);
  });

  it('runs one pass for a key that is added many times', async () => {
    const { controller, clock, passes } = harness(() => Promise.resolve(done()));
    for (let i = 0; i < 5; i++) controller.enqueue(A);
    await clock.advance(0);
    await clock.advance(10_000);
    expect(passes.length).toBeLessThanOrEqual(2);
    await controller.stop();
  });

  it.each([
    ['looks again after the time, with up to a tenth of jitter', after(1_000), 1_050],
    ['looks again at the end of a wait', wait('Building', 2_000), 2_100],
  ])('%s', async (_name, result, atMs) => {
    const { controller, clock, passes } = harness(() => Promise.resolve(result));
    controller.enqueue(A);
    await clock.advance(atMs - 1);
    expect(passes).toEqual(['ns/a']);
    await clock.advance(1);
    expect(passes).toEqual(['ns/a', 'ns/a']);
    await controller.stop();
  });

  it('never runs two passes over one object at the same time', async () => {
    let running = 0;
    let most = 0;
    const { controller, clock } = harness(async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      controller.enqueue(A);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return done();
    });
    controller.enqueue(A);
    for (let i = 0; i < 10; i++) await clock.advance(1);
    expect(most).toBe(1);
    const stopping = controller.stop();
    await clock.advance(10_000);
    await stopping;
  });

  it('goes on with the others when one object always fails', async () => {
    const { controller, clock, passes } = harness((key) => {
      if (key.name === 'a') throw new Error('poison');
      return Promise.resolve(done());
    });
    controller.enqueue(A);
    controller.enqueue(B);
    await clock.advance(650);
    expect(passes.filter((key) => key === 'ns/b')).toEqual(['ns/b']);
    // at once, then after 100, 200 and (at 700) 400 ms
    expect(passes.filter((key) => key === 'ns/a').length).toBe(3);
    await controller.stop();
  });

  it.each<[string, Error, Failure['kind'], number, number]>([
    ['leaves a terminal failure alone for a while', new TerminalError('Bad', 'no'), 'terminal', 1, 1],
    [
      'comes back to a waiting one after its delay',
      new WaitingError('Soon', 'later', 1_000),
      'waiting',
      1,
      2,
    ],
    ['retries anything else with back-off', new Error('boom'), 'retry', 1, 4],
    ['retries a conflict quietly', Object.assign(new Error('changed'), { code: 409 }), 'conflict', 0, 4],
  ])('%s', async (_name, error, kind, reported, passesWithin) => {
    const { controller, clock, passes, reports, failures } = harness(() => Promise.reject(error));
    controller.enqueue(A);
    await clock.advance(10);
    expect(reports.map(({ outcome }) => outcome)).toEqual([kind]);
    expect(failures.length).toBe(reported);
    await clock.advance(1_090);
    expect(passes.length).toBe(passesWithin);
    await controller.stop();
  });

  it('reports whether a failure repeats, until a pass ends well', async () => {
    let isBroken = true;
    const told: (boolean | 'ended')[] = [];
    const { controller, clock } = harness(
      () => (isBroken ? Promise.reject(new Error('boom')) : Promise.resolve(done())),
      {
        reports: { failed: (_key, _failure, is) => void told.push(is), ended: () => void told.push('ended') },
      },
    );
    controller.enqueue(A);
    await clock.advance(650);
    expect(told).toEqual([false, false, true]);
    isBroken = false;
    await clock.advance(400);
    isBroken = true;
    controller.enqueue(A);
    await clock.advance(1);
    expect(told.slice(3)).toEqual(['ended', false]);
    await controller.stop();
  });

  it('counts a failure as repeated after ten seconds, however seldom it is tried', async () => {
    const told: boolean[] = [];
    const { controller, clock } = harness(() => Promise.reject(new Error('boom')), {
      backoff: { firstMs: 10_000, longestMs: 10_000 },
      reports: { failed: (_key, _failure, is) => void told.push(is), ended: () => undefined },
    });
    controller.enqueue(A);
    await clock.advance(11_000);
    expect(told).toEqual([false, true]);
    await controller.stop();
  });

  it('looks at a terminal failure again, and reports it once', async () => {
    let message = 'Secret x belongs to another owner';
    const { controller, clock, passes, failures } = harness(() =>
      message === '' ? Promise.resolve(done()) : Promise.reject(new TerminalError('NotOurs', message)),
    );
    controller.enqueue(A);
    await clock.advance(200_000);
    expect([passes.length, failures.length]).toEqual([4, 1]);
    message = '';
    await clock.advance(200_000);
    expect([passes.length, failures.length]).toEqual([5, 1]);
    await controller.stop();
  });

  it('survives a hook that throws', async () => {
    const { controller, clock, passes } = harness(() => Promise.resolve(done()), {
      concurrency: 1,
      onPass: () => {
        throw new Error('broken metrics');
      },
    });
    controller.enqueue(A);
    await clock.advance(1);
    controller.enqueue(B);
    await clock.advance(1);
    expect(passes).toEqual(['ns/a', 'ns/b']);
    await controller.stop();
  });

  it('runs each pass inside of `around`, the report of its failure included', async () => {
    const steps: string[] = [];
    const { controller, clock } = harness(() => Promise.reject(new TerminalError('Broken', 'as it is')), {
      around: async (key, pass) => {
        steps.push(`begin ${key.name}`);
        await pass();
        steps.push(`end ${key.name}`);
      },
      reports: { failed: () => void steps.push('failure'), ended: () => void steps.push('ended') },
      onPass: () => steps.push('report'),
    });
    controller.enqueue(A);
    await clock.advance(1);
    expect(steps).toEqual(['begin a', 'ended', 'failure', 'report', 'end a']);
    await controller.stop();
  });

  it('lets running passes end when it stops, and aborts them after the time to drain', async () => {
    let aborted = false;
    const { controller, clock } = harness(
      (_key, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason as Error);
          }),
        ),
    );
    controller.enqueue(A);
    await clock.advance(1);
    const stopped = controller.stop(1_000);
    await clock.advance(999);
    expect(aborted).toBe(false);
    await clock.advance(1);
    await stopped;
    expect(aborted).toBe(true);
  });
});
