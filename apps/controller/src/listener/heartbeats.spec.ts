import type { Listener } from '#lib/resources';
import { FakeClock } from '#lib/testing';
import { Heartbeats } from './listener-reconciler.js';

const START = new Date('2026-01-01T12:00:00Z');

function beating(lastHeartbeatTime: string): Listener {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'default', namespace: 'ws-x', uid: 'u' },
    spec: { computeType: 'cluster', computeId: 'here' },
    status: { lastHeartbeatTime },
  };
}

describe('Heartbeats', () => {
  it('believes in a heartbeat for 45 s after its arrival', async () => {
    const clock = new FakeClock(START);
    const heartbeats = new Heartbeats(clock, 45_000);
    expect(heartbeats.isFresh(beating('2026-01-01T11:59:50Z'))).toBe(true);
    await clock.advance(34_000);
    expect(heartbeats.isFresh(beating('2026-01-01T11:59:50Z'))).toBe(true);
    await clock.advance(2_000);
    expect(heartbeats.isFresh(beating('2026-01-01T11:59:50Z'))).toBe(false);
  });

  it.each([
    ['behind', '2026-01-01T11:00:00Z', '2026-01-01T11:00:10Z'],
    ['ahead', '2026-01-01T13:00:00Z', '2026-01-01T13:00:10Z'],
  ])('believes in the heartbeats of a listener whose clock is an hour %s', async (_, first, second) => {
    const clock = new FakeClock(START);
    const heartbeats = new Heartbeats(clock, 45_000);
    heartbeats.isFresh(beating(first));
    await clock.advance(10_000);
    expect(heartbeats.isFresh(beating(second))).toBe(true);
    await clock.advance(46_000);
    expect(heartbeats.isFresh(beating(second))).toBe(false);
  });

  it('believes in heartbeats while its own clock is set', () => {
    const clock = new FakeClock(START);
    const heartbeats = new Heartbeats(clock, 45_000);
    heartbeats.isFresh(beating('2026-01-01T11:59:59Z'));
    for (const by of [3_600_000, -7_200_000]) {
      clock.step(by);
      expect(heartbeats.isFresh(beating('2026-01-01T11:59:59Z'))).toBe(true);
    }
  });

  it('forgets listeners that were deleted', () => {
    const clock = new FakeClock(START);
    const heartbeats = new Heartbeats(clock, 45_000);
    for (let made = 0; made < 50; made++) {
      const listener = beating('2026-01-01T11:59:59Z');
      heartbeats.isFresh({ ...listener, metadata: { ...listener.metadata, uid: `u${made}` } });
      heartbeats.keep(new Set(['u0', `u${made}`]));
    }
    expect(heartbeats.size).toBe(2);
  });

  it('does not believe in an old heartbeat that it meets first', () => {
    expect(new Heartbeats(new FakeClock(START), 45_000).isFresh(beating('2026-01-01T11:59:00Z'))).toBe(false);
  });

  it('gives a listener that was alive before the controller started the time for another heartbeat', async () => {
    const clock = new FakeClock(START);
    const old = beating('2026-01-01T03:00:00Z');
    const alive: Listener = {
      ...old,
      status: {
        ...old.status,
        conditions: [
          {
            type: 'HeartbeatFresh',
            status: 'True',
            reason: 'Available',
            message: '',
            lastTransitionTime: '2026-01-01T02:00:00Z',
          },
        ],
      },
    };
    const heartbeats = new Heartbeats(clock, 45_000);
    expect(heartbeats.isFresh(alive)).toBe(true);
    await clock.advance(19_000);
    expect(heartbeats.staleInMs(alive)).toBe(1_000);
    await clock.advance(1_000);
    expect(heartbeats.isFresh(alive)).toBe(false);
  });
});
