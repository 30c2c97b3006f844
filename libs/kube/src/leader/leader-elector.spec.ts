import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testEmbeddedKube, waitFor } from '#lib/testing';
import { systemClock, type Clock } from '#lib/time';
import { KubeClient } from '../client/kube-client.js';
import { loadKubeConnection } from '../connection/load-kube-connection.js';
import { type Lease, LEASES } from '#lib/resources';
import { decideLease, LeaderElector, type LeaderElectorOptions, type LeaseView } from './leader-elector.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

describe('decideLease', () => {
  const held = (by: string): Lease => ({
    metadata: { name: 'l' },
    spec: { holderIdentity: by, leaseDurationSeconds: 15 },
  });
  const view = (more: Partial<LeaseView>): LeaseView => ({
    lease: held('b'),
    identity: 'a',
    nowMs: 100_000,
    seenAtMs: 99_000,
    lookedAtMs: 98_000,
    leaseDurationMs: 15_000,
    ...more,
  });
  it.each<[string, LeaseView, string]>([
    ['makes a lease that is missing', view({ lease: undefined }), 'create'],
    ['takes a lease without a holder', view({ lease: held('') }), 'take'],
    [
      'renews its own lease at once, also from an earlier life',
      view({ lease: held('a'), seenAtMs: 0, lookedAtMs: 0 }),
      'renew',
    ],
    ["waits while another's lease is fresh", view({}), 'wait'],
    ["waits for another's lease to be silent for its whole length", view({ seenAtMs: 85_000 }), 'wait'],
    ["takes another's lease that was silent for longer", view({ seenAtMs: 84_999 }), 'take'],
    [
      'judges no holder after having slept itself',
      view({ seenAtMs: 10_000, lookedAtMs: 12_000 }),
      'judge-later',
    ],
  ])('%s', (_name, given, expected) => expect(decideLease(given)).toBe(expected));
});

describe('LeaderElector', () => {
  const server = testEmbeddedKube();
  let client: KubeClient;
  let count = 0;
  const electors: LeaderElector[] = [];

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }));
  });
  afterAll(async () => {
    for (const elector of electors) await elector.stop();
    await client.close();
  });

  const lease = (): { namespace: string; name: string } => ({
    namespace: 'default',
    name: `leader-${++count}`,
  });
  function candidate(
    options: Pick<LeaderElectorOptions, 'lease' | 'identity'> & Partial<LeaderElectorOptions>,
  ): LeaderElector {
    const elector = new LeaderElector({
      connection: client.connection,
      log: silent,
      retryMs: 50,
      leaseDurationMs: 1_000,
      renewDeadlineMs: 700,
      ...options,
    });
    electors.push(elector);
    elector.start();
    return elector;
  }

  it('has one leader at a time', async () => {
    const key = lease();
    const renewedMs = async (): Promise<number> =>
      Date.parse((await client.get(LEASES, key)).spec?.renewTime ?? '');
    const a = candidate({ lease: key, identity: 'a' });
    await a.acquired();
    const b = candidate({ lease: key, identity: 'b' });
    const fromMs = await renewedMs();
    await waitFor(async () => (await renewedMs()) > fromMs + 1_000);
    expect([a.isLeader, b.isLeader]).toEqual([true, false]);
  });

  it('has the next leader at once when the one before stops', async () => {
    const key = lease();
    const hour = { leaseDurationMs: 3_600_000 };
    const a = candidate({ lease: key, identity: 'a', ...hour });
    await a.acquired();
    const b = candidate({ lease: key, identity: 'b', ...hour });
    await a.stop();
    await b.acquired();
    expect((await client.get(LEASES, key)).spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  it('takes its own lease over at once', async () => {
    const key = lease();
    await client.create(LEASES, {
      metadata: key,
      spec: { holderIdentity: 'a', leaseDurationSeconds: 3_600, leaseTransitions: 4 },
    });
    await candidate({ lease: key, identity: 'a' }).acquired();
    expect((await client.get(LEASES, key)).spec?.leaseTransitions).toBe(4);
  });

  it('takes over from a leader that fell silent', async () => {
    const key = lease();
    await client.create(LEASES, { metadata: key, spec: { holderIdentity: 'dead', leaseDurationSeconds: 1 } });
    await candidate({ lease: key, identity: 'a' }).acquired();
    expect((await client.get(LEASES, key)).spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 1 });
  });

  it('stops leading when another candidate took the lease', async () => {
    const key = lease();
    const lost: string[] = [];
    const a = candidate({ lease: key, identity: 'a', onLost: (why) => lost.push(why) });
    await a.acquired();
    await client.merge(LEASES, key, { spec: { holderIdentity: 'thief' } });
    await waitFor(() => lost.length > 0);
    expect([a.isLeader, lost]).toEqual([false, ['thief took the lease']]);
    await a.stop();
    expect((await client.get(LEASES, key)).spec?.holderIdentity).toBe('thief');
  });

  it('gives up before its lease is over when requests hang instead of failing', async () => {
    const key = lease();
    const lost: string[] = [];
    let hungMs = 0;
    let isHanging = false;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + hungMs };
    const { auth } = client.connection;
    const authorization = (): ReturnType<typeof auth.authorization> => {
      if (!isHanging) return auth.authorization();
      hungMs += 400;
      return Promise.reject(new Error('no answer within 400 ms'));
    };
    const a = candidate({
      lease: key,
      identity: 'a',
      clock,
      onLost: (why: string) => lost.push(why),
      connection: { ...client.connection, auth: { authorization } },
    });
    await a.acquired();
    isHanging = true;
    await waitFor(() => lost.length > 0);
    // the lease is of a second: another candidate takes it then
    expect(hungMs).toBeLessThan(1_000);
  });

  it('goes on leading after having slept for longer than its lease, when it was not taken', async () => {
    const key = lease();
    const lost: string[] = [];
    let sleptMs = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + sleptMs };
    const a = candidate({ lease: key, identity: 'a', clock, onLost: (why) => lost.push(why) });
    await a.acquired();
    sleptMs = 60_000;
    const before = (await client.get(LEASES, key)).metadata.resourceVersion;
    await waitFor(async () => (await client.get(LEASES, key)).metadata.resourceVersion !== before);
    expect([a.isLeader, lost]).toEqual([true, []]);
  });
});
