import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import type { PlatformSettings } from '#lib/manifests';
import {
  type AgentRevision,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  DEPLOYMENTS,
  FINALIZER,
  NAMESPACES,
  type ResourceRef,
  RESOURCES,
  ROLES,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { testEmbeddedKube, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openCaches } from '../caches.js';
import { ListenerReconciler } from './listener-reconciler.js';

const NAMESPACE = 'ws-x';
const KEY = { namespace: NAMESPACE, name: 'far' };
const SETTINGS: PlatformSettings = { version: '1', apiUrl: 'http://127.0.0.1:9', addresses: 'loopback' };

describe('ListenerReconciler of a remote listener', () => {
  const server = testEmbeddedKube();
  const events: string[] = [];
  let client: KubeClient;
  let informers: Informers;
  let reconciler: ListenerReconciler;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'agentplane-controller' });
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
    for (const { plural } of Object.values(RESOURCES)) {
      const text = readFileSync(`crds/agentplane.dev_${plural}.yaml`, 'utf8');
      await client.apply(CUSTOM_RESOURCE_DEFINITIONS, parse(text) as CustomResourceDefinition);
    }
    for (const ref of Object.values(RESOURCES) as readonly ResourceRef[])
      await waitFor(() => client.list(ref).then(() => true));
    const log = createLogger('test', 'silent');
    informers = new Informers({ client, log, clock: systemClock });
    const caches = openCaches(informers, 'agentplane-system');
    reconciler = new ListenerReconciler(caches, SETTINGS, {
      client,
      clock: systemClock,
      events: { record: (_, object, { reason }) => void events.push(`${object.metadata.name} ${reason}`) },
      staleMs: 45_000,
    });
    informers.start();
    await informers.synced();
  }, 120_000);
  afterAll(async () => {
    await informers?.stop();
    await client?.close();
  });

  /** Until what the caches show by then has become what is expected. */
  const reconcileUntil = (holds: () => Promise<boolean>) =>
    waitFor(
      async () => {
        await reconciler.reconcile(KEY);
        return await holds();
      },
      { timeoutMs: 20_000 },
    );

  async function createRevision(name: string): Promise<void> {
    const spec: AgentRevision['spec'] = {
      deploymentName: 'a',
      deploymentWireName: 'a',
      tenantId: '7b0c1a52-1111-4222-8333-444455556666',
      number: 1,
      source: 'external_image',
      imageUri: 'example.org/agent:1',
      envSecretName: `${name}-env`,
      databaseSecretName: 'a-database',
      platformSecretName: 'a-platform',
      listenerName: 'far',
    };
    await client.create(RESOURCES.AgentRevision, {
      metadata: { namespace: NAMESPACE, name, finalizers: [FINALIZER.place] },
      spec,
    });
  }

  const secretsInRole = async (): Promise<readonly string[]> => {
    const role = await client.find(ROLES, { namespace: NAMESPACE, name: 'listener-far' });
    return (role?.rules ?? []).flatMap(({ resources, resourceNames }) =>
      resources?.includes('secrets') ? (resourceNames ?? ['*']) : [],
    );
  };

  it('makes an account and no program, with rights that follow its revisions', async () => {
    await client.create(RESOURCES.Listener, {
      metadata: KEY,
      spec: { computeType: 'cluster', computeId: 'far', remote: { apiUrl: 'https://agents.example.org' } },
    });
    const role = { namespace: NAMESPACE, name: 'listener-far' };
    await reconcileUntil(async () => (await client.find(ROLES, role)) !== undefined);
    expect(await secretsInRole()).toEqual([]);
    expect(await client.find(DEPLOYMENTS, role)).toBeUndefined();
    await createRevision('a-00001');
    await reconcileUntil(async () => (await secretsInRole()).length > 0);
    expect(await secretsInRole()).toEqual(['a-00001-env', 'a-database', 'a-platform']);
    const { status } = await client.get(RESOURCES.Listener, KEY);
    expect(status?.conditions?.map(({ type, reason }) => `${type} ${reason}`).sort()).toEqual([
      'HeartbeatFresh NoHeartbeat',
      'Ready NoHeartbeat',
    ]);
  });

  it('releases revisions that are deleted after it, and reports what stays in its cluster', async () => {
    const revision = { namespace: NAMESPACE, name: 'a-00001' };
    await client.delete(RESOURCES.Listener, KEY);
    await waitFor(async () => (await client.find(RESOURCES.Listener, KEY)) === undefined);
    await reconciler.reconcile(KEY);
    expect(await client.find(RESOURCES.AgentRevision, revision)).toBeDefined();
    await client.delete(RESOURCES.AgentRevision, revision);
    await reconcileUntil(async () => (await client.find(RESOURCES.AgentRevision, revision)) === undefined);
    expect(new Set(events)).toEqual(new Set(['a-00001 PlaceAbandoned']));
  });
});
