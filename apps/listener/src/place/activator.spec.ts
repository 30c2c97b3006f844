import { afterEach, describe, expect, it } from '@jest/globals';
import { ANNOTATION, formatSleepNote, type Pod, type Service } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, sendRaw } from '#lib/testing';
import { Activator, type Behind } from './activator.js';

const log = createLogger('test', 'silent');
const SINCE = '2026-01-01T00:00:00.000Z';

/** A deployment that the activator holds requests for. */
class Sleeper implements Behind {
  asleep = true;
  readonly asked: string[] = [];
  readonly pods = (): readonly Pod[] => [];

  readonly find = (): Service => ({
    metadata: {
      name: 'a',
      annotations: {
        ...(this.asleep ? { [ANNOTATION.sleep]: formatSleepNote({ since: SINCE }) } : {}),
        ...(this.asked.length > 0 ? { [ANNOTATION.wake]: SINCE } : {}),
      },
    },
    spec: {},
  });

  readonly wake = (since: string): Promise<void> => {
    this.asked.push(since);
    return Promise.resolve();
  };
}

describe('Activator', () => {
  const clock = new FakeClock();
  const activator = new Activator({ host: '127.0.0.1', maxPorts: 2, clock, log });
  afterEach(() => activator.stop());

  const isOpen = (port: number): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/ok`).then(
      () => true,
      () => false,
    );

  it('closes the port of a deployment that is awake for one that falls asleep', async () => {
    const [a, b, c] = [new Sleeper(), new Sleeper(), new Sleeper()];
    const first = await activator.portOf('ws/a', a);
    const second = await activator.portOf('ws/b', b);
    await expect(activator.portOf('ws/c', c)).rejects.toThrow('2 deployments of this listener sleep');
    a.asleep = false;
    // its note may be in flight
    await expect(activator.portOf('ws/c', c)).rejects.toThrow('ws/c');
    await clock.advance(60_001);
    const third = await activator.portOf('ws/c', c);
    expect(await Promise.all([first, second, third].map(isOpen))).toEqual([false, true, true]);
    expect(await activator.portOf('ws/b', b)).toBe(second);
  });

  it('writes a wake once, however many wait for it and however long', async () => {
    const sleeper = new Sleeper();
    const port = await activator.portOf('ws/a', sleeper);
    const waiting = [1, 2].map(() =>
      sendRaw(port, 'GET /threads HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'),
    );
    for (let seconds = 0; seconds < 80; seconds += 0.5) {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(500);
    }
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([503, 503]);
    expect(sleeper.asked).toEqual([SINCE]);
  });
});
