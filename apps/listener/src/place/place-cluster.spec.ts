import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import {
  type AgentRevision,
  type Deployment,
  DEPLOYMENTS,
  FIELD_MANAGER,
  HORIZONTAL_POD_AUTOSCALERS,
  LABEL,
  NAMESPACES,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { testEmbeddedKube, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { PlaceCluster } from './place-cluster.js';

const NAMESPACE = 'ws-x';
const KEY = { namespace: NAMESPACE, name: 'a-00001' };
const REVISION = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'AgentRevision',
  metadata: { ...KEY, uid: '11111111-1111-4111-8111-111111111111' },
} as AgentRevision;

function workload(replicas?: number): Deployment {
  const labels = { [LABEL.deployment]: 'a', [LABEL.revision]: KEY.name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...KEY, labels },
    spec: {
      ...(replicas === undefined ? {} : { replicas }),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'agent', image: 'i' }] } },
    },
  };
}

describe('PlaceCluster with an autoscaler of the user', () => {
  const server = testEmbeddedKube();
  let client: KubeClient;
  let informers: Informers;
  let place: PlaceCluster;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.listener });
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
    informers = new Informers({ client, log: createLogger('test', 'silent'), clock: systemClock });
    place = new PlaceCluster(client, informers, {
      namespace: NAMESPACE,
      hubNamespace: NAMESPACE,
      ownership: 'reference',
      addresses: 'cluster-dns',
      idleKey: 'key',
      listenerName: 'default',
    });
    informers.start();
    await informers.synced();
  });
  afterAll(async () => {
    await informers?.stop();
    await client?.close();
  });

  const stored = () => client.get(DEPLOYMENTS, KEY);
  const apply = async (replicas?: number): Promise<number | undefined> => {
    await place.applyWorkload(REVISION, workload(replicas), await client.find(DEPLOYMENTS, KEY));
    return (await stored()).spec.replicas;
  };

  it('leaves the number of pods alone once the controller of the autoscaler works', async () => {
    await apply(3);
    const key = { namespace: NAMESPACE, name: 'mine' };
    await client.create(HORIZONTAL_POD_AUTOSCALERS, {
      metadata: key,
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: KEY.name }, maxReplicas: 5 },
    });
    const cache = informers.of(HORIZONTAL_POD_AUTOSCALERS, { namespace: NAMESPACE });
    await waitFor(async () => cache.find(key) !== undefined);
    expect(place.isAutoscaled(await stored())).toBe(false);
    await client.mergeStatus(HORIZONTAL_POD_AUTOSCALERS, key, {
      status: { conditions: [{ type: 'AbleToScale', status: 'True' }] },
    });
    await waitFor(async () => place.isAutoscaled(await stored()));
    // the field has lost its only owner, and would become 1
    expect(await apply()).toBe(3);
    await client.merge(
      DEPLOYMENTS,
      KEY,
      { spec: { replicas: 4 } },
      { fieldManager: 'autoscaler', subresource: 'scale' },
    );
    expect(await apply()).toBe(4);
    const { generation } = (await stored()).metadata;
    expect([await apply(), (await stored()).metadata.generation]).toEqual([4, generation]);
  });

  it('takes the number back, and gives it away again', async () => {
    expect(await apply(0)).toBe(0);
    expect(await apply(2)).toBe(2);
    expect(await apply()).toBe(2);
  });
});
