import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import { REPLICA_SETS, type ReplicaSet } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, testEmbeddedKube } from '#lib/testing';
import { WorkloadStatuses } from './workload-statuses.js';

const KEY = { namespace: 'default', name: 'web' };

describe('WorkloadStatuses', () => {
  const kube = testEmbeddedKube();
  const clock = new FakeClock();
  let client: KubeClient;
  let informers: Informers;
  let statuses: WorkloadStatuses<ReplicaSet>;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'test' });
    informers = new Informers({ client, log: createLogger('test', 'silent') });
    statuses = new WorkloadStatuses({ client, informers, clock }, REPLICA_SETS);
    informers.of(REPLICA_SETS);
    informers.start();
    await informers.synced();
    await client.create(REPLICA_SETS, {
      metadata: KEY,
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'main', image: 'a' }] },
        },
      },
    });
  });
  afterAll(async () => {
    await informers.stop();
    await client.close();
  });

  /** Writes what a pass computed. @returns the pause that it was asked for, and what is stored then */
  async function write(status: NonNullable<ReplicaSet['status']>): Promise<unknown> {
    const pause = await statuses.write(await client.get(REPLICA_SETS, KEY), status);
    return [pause, (await client.get(REPLICA_SETS, KEY)).status];
  }

  it('writes other ready pods at once, and several other changes as one', async () => {
    const ready = { replicas: 1, readyReplicas: 1, availableReplicas: 1 };
    expect(await write(ready)).toEqual([undefined, ready]);
    expect(await write({ ...ready, replicas: 2 })).toEqual([250, ready]);
    await clock.advance(210);
    expect(await write({ ...ready, replicas: 3 })).toEqual([40, ready]);
    await clock.advance(40);
    expect(await write({ ...ready, replicas: 4 })).toEqual([undefined, { ...ready, replicas: 4 }]);
    expect(await write({ ...ready, replicas: 5 })).toEqual([250, { ...ready, replicas: 4 }]);
    const more = { replicas: 5, readyReplicas: 2, availableReplicas: 2 };
    expect(await write(more)).toEqual([undefined, more]);
  });
});
