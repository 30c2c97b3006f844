import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { hasRealKubernetes, testApiServer, waitFor } from '#lib/testing';
import { DEPLOYMENTS, NODES, PODS, SERVICE_ACCOUNTS } from '#lib/resources';
import { startClusterControllers } from './start-cluster-controllers.js';
import { Kubelet } from './testdata/kubelet.js';

const log = createLogger('test', process.env.TEST_LOG ?? 'silent');
const key = { namespace: 'default', name: 'web' };
const WRITTEN = [
  'pods',
  'replicasets',
  'deployments',
  'nodes',
  'namespaces',
  'events',
  'configmaps',
  'serviceaccounts',
];

(hasRealKubernetes ? describe : describe.skip)(
  'cluster controllers and an API server that comes and goes',
  () => {
    const server = testApiServer();
    let controllers: Stoppable;
    let client: KubeClient;
    let informers: Informers;
    let kubelet: Kubelet;

    beforeAll(async () => {
      const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
      client = new KubeClient(connection, { fieldManager: 'test' });
      controllers = await startClusterControllers({ connection, log });
      informers = new Informers({ client, log });
      informers.of(PODS);
      informers.start();
      await informers.synced();
      kubelet = new Kubelet(client, informers, 'node-a', log);
      await kubelet.start();
      await waitFor(() => client.find(SERVICE_ACCOUNTS, { namespace: 'default', name: 'default' }));
      const template = {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'main', image: 'a' }] },
      };
      await client.create(DEPLOYMENTS, {
        metadata: key,
        spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template },
      });
      await isAvailable(2);
    });

    afterAll(async () => {
      await kubelet?.stop();
      await controllers?.stop();
      await informers?.stop();
      await client?.close();
    });

    const isAvailable = (count: number): Promise<unknown> =>
      waitFor(async () => (await client.get(DEPLOYMENTS, key)).status?.availableReplicas === count, {
        what: `${count} available`,
      });
    const pods = async (): Promise<string[]> =>
      (await client.list(PODS, { namespace: 'default' })).items
        .map(({ metadata }) => metadata.uid ?? '')
        .sort();

    /** Writes to the kinds that the controllers write, by the API server's own count. */
    async function writes(): Promise<number> {
      const text = String(await client.raw('GET', '/metrics', { accept: 'text/plain' }));
      return text
        .split('\n')
        .filter((line) => /^apiserver_request_total\{.*verb="(POST|PUT|PATCH|APPLY|DELETE)"/.test(line))
        .filter((line) => WRITTEN.includes(/resource="([^"]*)"/.exec(line)?.[1] ?? ''))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    }

    it('writes nothing while nothing changes', async () => {
      let before = -1;
      // events and the last statuses may still be on their way
      await waitFor(async () => before === (before = await writes()), { intervalMs: 500 });
      await new Promise((resolve) => setTimeout(resolve, 6_000));
      expect((await writes()) - before).toBe(0);
    });

    it('deletes nothing because of an outage, and resumes after it', async () => {
      const before = await pods();
      await server.kill();
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await server.restart();
      await client.merge(DEPLOYMENTS, key, { spec: { replicas: 3 } });
      await isAvailable(3);
      expect(await pods()).toEqual(expect.arrayContaining(before));
      expect((await client.get(NODES, { name: 'node-a' })).status?.conditions?.[0]?.status).toBe('True');
    });
  },
);
