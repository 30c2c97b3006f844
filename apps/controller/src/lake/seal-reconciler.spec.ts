import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { JOBS, NAMESPACES, SECRETS } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, testEmbeddedKube } from '#lib/testing';
import { SealReconciler } from './seal-reconciler.js';

const NAMESPACE = 'agentplane-system';
const KEY = { namespace: NAMESPACE, name: 'lake-seal' };

describe('SealReconciler', () => {
  const server = testEmbeddedKube();
  let client: KubeClient;
  let due = 0;
  let hasGarbage = false;
  let events: string[] = [];
  let clock: FakeClock;
  let reconciler: SealReconciler;

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }), {
      fieldManager: 'test',
    });
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
  });
  afterAll(() => client.close());

  beforeEach(async () => {
    await client.delete(JOBS, KEY);
    await client.delete(SECRETS, KEY);
    [due, hasGarbage, events] = [0, false, []];
    clock = new FakeClock(new Date('2026-11-20T12:00:00Z'));
    reconciler = new SealReconciler({
      lake: { look: () => Promise.resolve(due), hasGarbage: () => Promise.resolve(hasGarbage) },
      client,
      events: { record: (_ref, _object, { reason, message }) => void events.push(`${reason} ${message}`) },
      runs: { list: () => [] },
      settings: {
        version: '1.2.3',
        apiUrl: 'http://api',
        addresses: 'loopback',
        lake: { AGENTPLANE_LAKE: 'on' },
      },
      systemNamespace: NAMESPACE,
      databaseUri: 'postgres://now',
      lakeKeys: {},
      clock,
      log: createLogger('test', 'silent'),
    });
  });

  async function exists(): Promise<readonly [job: boolean, secret: boolean]> {
    return [(await client.find(JOBS, KEY)) !== undefined, (await client.find(SECRETS, KEY)) !== undefined];
  }
  /** The worker ends. */
  async function end(type: 'Complete' | 'Failed'): Promise<void> {
    const at = clock.now().toISOString();
    const condition = {
      type,
      status: 'True',
      lastTransitionTime: at,
      lastProbeTime: at,
      message: 'exit code 65',
    };
    const conditions =
      type === 'Complete'
        ? [{ ...condition, type: 'SuccessCriteriaMet' }, condition]
        : [{ ...condition, type: 'FailureTarget' }, condition];
    const ended = type === 'Complete' ? { completionTime: at } : {};
    await client.mergeStatus(JOBS, KEY, { status: { startTime: at, conditions, ...ended } } as never);
  }

  it('makes nothing while no day is due', async () => {
    await reconciler.reconcile();
    expect(await exists()).toEqual([false, false]);
  });

  it('makes one worker with the credentials of now, and removes both once it is done', async () => {
    const data = { database_uri: Buffer.from('postgres://before').toString('base64') };
    await client.create(SECRETS, { metadata: KEY, immutable: true, type: 'Opaque', data });
    due = 1;
    await reconciler.reconcile();
    await reconciler.reconcile();
    expect(await exists()).toEqual([true, true]);
    const uri = (await client.get(SECRETS, KEY)).data?.['database_uri'] ?? '';
    expect(Buffer.from(uri, 'base64').toString()).toBe('postgres://now');
    await end('Complete');
    await reconciler.reconcile();
    expect(await exists()).toEqual([false, false]);
    expect(events).toEqual([]);
  });

  it('makes a worker for files of deleted projects alone, and another one five minutes later', async () => {
    hasGarbage = true;
    await reconciler.reconcile();
    expect(await exists()).toEqual([true, true]);
    await end('Complete');
    await reconciler.reconcile();
    await reconciler.reconcile();
    expect(await exists()).toEqual([false, false]);
    await clock.advance(300_000);
    await reconciler.reconcile();
    expect(await exists()).toEqual([true, true]);
  });

  it('reports a failed worker once, and makes another one after ten minutes', async () => {
    due = 1;
    await reconciler.reconcile();
    await end('Failed');
    await reconciler.reconcile();
    await reconciler.reconcile();
    expect(await exists()).toEqual([true, false]);
    expect(events).toEqual([expect.stringMatching(/^SealingFailed sealing days failed: exit code 65; /)]);
    await clock.advance(600_000);
    await reconciler.reconcile();
    expect(await exists()).toEqual([false, false]);
    await reconciler.reconcile();
    expect(await exists()).toEqual([true, true]);
  });
});
