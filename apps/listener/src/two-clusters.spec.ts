import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { startClusterControllers } from '#lib/cluster-controllers';
import { Informers, KubeClient, loadKubeConnection, startControllers } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import {
  type AgentDeployment,
  type AgentRevision,
  CUSTOM_RESOURCE_DEFINITIONS,
  COMPONENT,
  type CustomResourceDefinition,
  DEPLOYMENTS,
  FINALIZER,
  findCondition,
  isConditionTrue,
  LABEL,
  NAMESPACES,
  PODS,
  type ResourceRef,
  RESOURCES,
  SECRETS,
  SERVICES,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { testEmbeddedKube, waitFor as waitWithin, type WaitOptions } from '#lib/testing';
import { systemClock } from '#lib/time';
import { allInformers } from './open-clusters.js';
import { HubCluster } from './hub/hub-cluster.js';
import { PlaceCluster } from './place/place-cluster.js';
import { RolloutReconciler } from './rollout/rollout-reconciler.js';
import { DEFAULT_PATIENCE } from './rollout/world.js';

const NAMESPACE = 'ws-x';
const NOW = '2026-01-01T00:00:00Z';
const PLACE = 'far-agents';
const at = (name: string) => ({ namespace: NAMESPACE, name });
const there = (name: string) => ({ namespace: PLACE, name });
const waitFor = <T>(probe: () => T | Promise<T>, options: WaitOptions = {}) =>
  waitWithin(probe, { timeoutMs: 30_000, ...options });
const log = createLogger('test', 'silent');

describe('listener between two clusters', () => {
  const [hubServer, placeServer] = [testEmbeddedKube(), testEmbeddedKube()];
  const running: Stoppable[] = [];
  let hub: KubeClient;
  let place: KubeClient;

  const connect = async (kubeconfigPath: string) => {
    const connection = await loadKubeConnection({ kubeconfigPath });
    const client = new KubeClient(connection, { fieldManager: 'agentplane-listener' });
    for (const name of [NAMESPACE, PLACE]) await client.create(NAMESPACES, { metadata: { name } });
    return { connection, client };
  };

  beforeAll(async () => {
    ({ client: hub } = await connect(hubServer.kubeconfigPath));
    const far = await connect(placeServer.kubeconfigPath);
    place = far.client;
    for (const kind of ['agentdeployments', 'agentrevisions']) {
      const text = readFileSync(`crds/agentplane.dev_${kind}.yaml`, 'utf8');
      await hub.apply(CUSTOM_RESOURCE_DEFINITIONS, parse(text) as CustomResourceDefinition);
    }
    await waitFor(() => hub.list(RESOURCES.AgentRevision).then(() => true));
    await waitFor(() => hub.list(RESOURCES.AgentDeployment).then(() => true));
    // its garbage collector would remove what is owned by an object of the other cluster
    running.push(await startClusterControllers({ connection: far.connection, log }));
    const caches = [hub, place].map((client) => new Informers({ client, log, clock: systemClock }));
    const [hubCaches, placeCaches] = caches;
    if (!hubCaches || !placeCaches) throw new Error('no caches');
    const hubHalf = new HubCluster(
      hub,
      hubCaches,
      { record: () => undefined },
      { namespace: NAMESPACE, placeNamespace: PLACE },
    );
    const placeHalf = new PlaceCluster(place, placeCaches, {
      namespace: PLACE,
      hubNamespace: NAMESPACE,
      ownership: 'label',
      addresses: 'cluster-dns',
      idleKey: 'key',
      listenerName: 'default',
    });
    const reconciler = new RolloutReconciler(hubHalf, placeHalf, {
      clock: systemClock,
      settings: {
        version: '1',
        apiUrl: 'http://127.0.0.1:9',
        addresses: 'cluster-dns',
      },
      listenerName: 'far',
      patience: DEFAULT_PATIENCE,
      isBlind: () => false,
      secretLookMs: 200,
    });
    const controller = {
      name: 'rollout',
      reconcile: (key: { namespace?: string; name: string }) => reconciler.reconcile(key),
      sources: [...hubHalf.sources, ...placeHalf.sources],
    };
    running.push(await startControllers({ informers: allInformers(caches), controllers: [controller], log }));
  });
  afterAll(async () => {
    for (const one of running.reverse()) await one.stop();
    await hub.close();
    await place.close();
  });

  const secret = (name: string) =>
    hub.create(SECRETS, { metadata: at(name), type: 'Opaque', data: { A: 'MQ==' } });

  async function deploy(): Promise<void> {
    const spec: AgentDeployment['spec'] = {
      source: 'external_image',
      sourceConfig: { resourceSpec: { queueMinScale: 1 } },
      sourceRevisionConfig: { imageUri: 'example.org/agent:1' },
      suspend: false,
      revisionHistoryLimit: 10,
      minReadySeconds: 0,
    };
    const { metadata } = await hub.create(RESOURCES.AgentDeployment, {
      // the controller keeps it until its revisions are gone
      metadata: { ...at('a'), finalizers: [FINALIZER.deployment] },
      spec,
    });
    const owner = { apiVersion: 'agentplane.dev/v1alpha1', kind: 'AgentDeployment', name: 'a' };
    const revision: AgentRevision['spec'] = {
      deploymentName: 'a',
      deploymentWireName: 'a',
      tenantId: '7b0c1a52-1111-4222-8333-444455556666',
      number: 1,
      source: 'external_image',
      imageUri: 'example.org/agent:1',
      envSecretName: 'a-00001-env',
      databaseSecretName: 'a-database',
      platformSecretName: 'a-platform',
      listenerName: 'far',
      placeNamespace: PLACE,
      resourceSpec: { queueMinScale: 1 },
    };
    await hub.create(RESOURCES.AgentRevision, {
      metadata: {
        ...at('a-00001'),
        ownerReferences: [{ ...owner, uid: metadata.uid ?? '', controller: true }],
      },
      spec: revision,
    });
    const built = {
      type: 'Built',
      status: 'True',
      reason: 'Image',
      message: '',
      lastTransitionTime: NOW,
    } as const;
    await hub.applyStatus(
      RESOURCES.AgentRevision,
      { metadata: at('a-00001'), status: { image: 'example.org/agent@sha256:1', conditions: [built] } },
      { fieldManager: 'agentplane-builder' },
    );
  }

  const revisionUid = async () => (await hub.get(RESOURCES.AgentRevision, at('a-00001'))).metadata.uid;
  const deploymentUid = async () => (await hub.get(RESOURCES.AgentDeployment, at('a'))).metadata.uid;

  it('waits for the variables in the hub', async () => {
    await deploy();
    await waitFor(async () => (await hub.get(RESOURCES.AgentRevision, at('a-00001'))).metadata.finalizers);
    expect((await place.list(DEPLOYMENTS, { namespace: PLACE })).items).toEqual([]);
    for (const name of ['a-00001-env', 'a-database', 'a-platform']) await secret(name);
  });

  it('runs a revision of the hub in the place, owned by label', async () => {
    const workload = await waitFor(() => place.find(DEPLOYMENTS, there('a-00001')));
    expect(workload.metadata.ownerReferences).toBeUndefined();
    expect(workload.metadata.labels?.[LABEL.owner]).toBe(await revisionUid());
    expect(workload.spec.template.spec.containers[0]?.image).toBe('example.org/agent@sha256:1');
    expect((await hub.list(DEPLOYMENTS, { namespace: NAMESPACE })).items).toEqual([]);
    for (const [name, owner] of [
      ['a-00001-env', await revisionUid()],
      ['a-database', await deploymentUid()],
      ['a-platform', await deploymentUid()],
    ] as const) {
      const { metadata, data } = await place.get(SECRETS, there(name));
      expect([metadata.labels?.[LABEL.owner], metadata.ownerReferences, data]).toEqual([
        owner,
        undefined,
        { A: 'MQ==' },
      ]);
    }
  });

  it('runs its queue beside it, of which the Service selects nothing', async () => {
    const { metadata, spec } = await waitFor(() => place.find(DEPLOYMENTS, there('a-00001-queue')));
    expect(metadata.labels?.[LABEL.owner]).toBe(await revisionUid());
    expect(spec.replicas).toBe(1);
    expect(spec.selector.matchLabels).toEqual({
      [LABEL.revision]: 'a-00001',
      [LABEL.component]: COMPONENT.agentQueue,
    });
  });

  it('reports why a pod that takes runs does not start, and how many pods are ready', async () => {
    const queue = await waitFor(async () => {
      const { items } = await place.list(PODS, { namespace: PLACE });
      return items.find(({ metadata }) => metadata.labels?.[LABEL.component] === COMPONENT.agentQueue);
    });
    const message = '{"reason":"DependencyUnavailable","message":"waiting for the database a: no answer"}';
    const container = { name: 'agent', image: 'x', imageID: '', ready: false, restartCount: 1 };
    const state = { terminated: { exitCode: 75, message } };
    await place.mergeStatus(PODS, there(queue.metadata.name), {
      status: { phase: 'Running', containerStatuses: [{ ...container, state }] },
    });
    const conditions = await waitFor(async () => {
      const { status } = await hub.get(RESOURCES.AgentRevision, at('a-00001'));
      return (
        findCondition(status?.conditions, 'Ready')?.reason === 'DependencyUnavailable' && status?.conditions
      );
    });
    expect(findCondition(conditions, 'Ready')?.message).toBe('waiting for the database a: no answer');
    const running = { ...container, state: { running: { startedAt: NOW } } };
    await place.mergeStatus(PODS, there(queue.metadata.name), { status: { containerStatuses: [running] } });
    await waitFor(async () => {
      const { status } = await hub.get(RESOURCES.AgentRevision, at('a-00001'));
      return findCondition(status?.conditions, 'Ready')?.message.startsWith('0 of 2 pods are ready');
    });
  });

  it('reports in the hub what happens in the place, its address included', async () => {
    const pods = await waitFor(async () => {
      const { items } = await place.list(PODS, { namespace: PLACE });
      return items.length === 2 && items;
    });
    for (const { metadata } of pods)
      await place.mergeStatus(PODS, there(metadata.name), {
        status: {
          phase: 'Running',
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: NOW }],
        },
      });
    const status = await waitFor(async () => {
      const found = (await hub.get(RESOURCES.AgentRevision, at('a-00001'))).status;
      return isConditionTrue(found?.conditions, 'Ready') && found;
    });
    expect(status).toMatchObject({
      serving: true,
      url: 'http://a.far-agents.svc',
      workload: 'a-00001',
      image: 'example.org/agent@sha256:1',
    });
    expect((await hub.list(SERVICES, { namespace: NAMESPACE })).items).toEqual([]);
  });

  it('copies a Secret again that changes in the hub, and keeps the copy of one that is missing', async () => {
    await hub.merge(SECRETS, at('a-database'), { data: { A: 'Mg==' } });
    await waitFor(async () => (await place.get(SECRETS, there('a-database'))).data?.['A'] === 'Mg==');
    await hub.delete(SECRETS, at('a-platform'));
    await hub.merge(SECRETS, at('a-database'), { data: { A: 'Mw==' } });
    await secret('a-platform');
    await waitFor(async () => (await place.get(SECRETS, there('a-database'))).data?.['A'] === 'Mw==');
    expect((await place.get(SECRETS, there('a-platform'))).data).toEqual({ A: 'MQ==' });
    expect((await hub.get(RESOURCES.AgentRevision, at('a-00001'))).status).toMatchObject({ serving: true });
  });

  it('leaves nothing in the place once the hub deletes its objects', async () => {
    await hub.delete(RESOURCES.AgentDeployment, at('a'));
    await hub.delete(RESOURCES.AgentRevision, at('a-00001'));
    await waitFor(async () => (await hub.find(RESOURCES.AgentRevision, at('a-00001'))) === undefined);
    for (const ref of [DEPLOYMENTS, SERVICES, SECRETS])
      expect((await place.list(ref as ResourceRef, { namespace: PLACE })).items).toEqual([]);
    await waitFor(async () => (await place.list(PODS, { namespace: PLACE })).items.length === 0);
  });
});
