import { afterEach, describe, expect, it } from '@jest/globals';
import type { KubeClient } from '#lib/kube';
import { createLogger } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import { Heartbeat } from './heartbeat.js';

describe('Heartbeat', () => {
  const clock = new FakeClock();
  const beats: string[] = [];
  const logged: string[] = [];
  let answer: () => Promise<void> = () => Promise.resolve();

  const log = Object.assign(createLogger('test', 'silent'), {
    warn: (_: object, message: string) => logged.push(message),
    info: (_: object, message: string) => logged.push(message),
  });
  const client = {
    applyStatus: async (_: unknown, { status }: { status: { lastHeartbeatTime: string } }) => {
      beats.push(status.lastHeartbeatTime);
      await answer();
    },
  } as unknown as KubeClient;
  const heartbeat = new Heartbeat({
    client,
    clock,
    log,
    version: '1',
    everyMs: 10_000,
    listener: { namespace: 'ws-x', name: 'default' },
  });
  afterEach(() => {
    beats.length = 0;
    logged.length = 0;
  });

  it('beats at once and then regularly', async () => {
    heartbeat.start();
    await clock.advance(30_000);
    expect(beats.map((time) => time.slice(17, 19))).toEqual(['00', '10', '20', '30']);
  });

  it('logs an outage once, and its end', async () => {
    answer = () => Promise.reject(new Error('no answer'));
    await clock.advance(30_000);
    answer = () => Promise.resolve();
    await clock.advance(20_000);
    expect(beats).toHaveLength(5);
    expect(logged).toEqual(['writing the heartbeat failed, retrying', 'writing heartbeats recovered']);
  });

  it('writes one beat at a time, and none after its end', async () => {
    const slow = Promise.withResolvers<void>();
    answer = () => slow.promise;
    await clock.advance(60_000);
    expect(beats).toHaveLength(1);
    const stopped = heartbeat.stop();
    slow.resolve();
    await stopped;
    await clock.advance(60_000);
    expect(beats).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });
});
