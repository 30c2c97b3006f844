import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EventRecorder, Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import { NODES, PODS, SERVICE_ACCOUNTS } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, testEmbeddedKube } from '#lib/testing';
import { podGcController } from './pod-gc-controller.js';

const log = createLogger('test', 'silent');
const namespace = 'default';
const LIMIT_BYTES = 1.5 * 1024 * 1024;

describe('podGcController', () => {
  const server = testEmbeddedKube();
  let client: KubeClient;
  let informers: Informers;

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }), {
      fieldManager: 'test',
    });
    informers = new Informers({ client, log });
  });
  afterAll(async () => {
    await informers?.stop();
    await client?.close();
  });

  it('deletes the pods of a missing node, also one whose status no longer fits', async () => {
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'default' } });
    await createPod('b-small', 0);
    // answers to writes leave out managedFields
    const small = JSON.stringify(await client.get(PODS, { namespace, name: 'b-small' })).length;
    await createPod('a-large', LIMIT_BYTES - small - 60); // no status fits any more
    informers.of(PODS);
    informers.of(NODES);
    informers.start();
    await informers.synced();
    const clock = new FakeClock();
    const events = new EventRecorder({ client, component: 'test', log });
    const { reconcile } = podGcController({ client, informers, events, clock, log }, 500);
    const sweep = () => reconcile({ name: 'all' }, { signal: new AbortController().signal, failures: 0 });
    await sweep();
    expect((await client.list(PODS, { namespace })).items.length).toBe(2);
    await clock.advance(60_000);
    expect(await sweep()).toMatchObject({ kind: 'after' });
    expect((await client.list(PODS, { namespace })).items).toEqual([]);
  });

  const createPod = (name: string, filling: number) =>
    client.create(PODS, {
      metadata: { namespace, name },
      spec: {
        nodeName: 'gone',
        containers: [{ name: 'main', image: 'a', env: [{ name: 'FILL', value: 'x'.repeat(filling) }] }],
      },
    });
});
