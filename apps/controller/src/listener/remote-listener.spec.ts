import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Informers, KubeClient, loadKubeConnection, StatusWriter } from '#lib/kube';
import type { PlatformSettings } from '#lib/manifests';
import {
  type AgentRevision,
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  DEPLOYMENTS,
  EVENTS,
  FIELD_MANAGER,
  FINALIZER,
  LEASES,
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
    const caches = openCaches(informers, { systemNamespace: 'agentplane-system', hasDatabaseServers: false });
    reconciler = new ListenerReconciler(caches, SETTINGS, {
      client,
      clock: systemClock,
      events: { record: (_, object, { reason }) => void events.push(`${object.metadata.name} ${reason}`) },
      staleMs: 45_000,
    });
    informers.start();
    await informers.synced();
  });
  afterAll(async () => {
    await informers?.stop();
    await client?.close();
  });

  /** Reconciles until the caches show the expected state. */
  const reconcileUntil = (holds: () => Promise<boolean>) =>
    waitFor(async () => {
      await reconciler.reconcile(KEY);
      return await holds();
    });

  async function createRevision(name: string): Promise<void> {
    const [deployment = ''] = name.split('-');
    const spec: AgentRevision['spec'] = {
      deploymentName: deployment,
      deploymentWireName: deployment,
      tenantId: '7b0c1a52-1111-4222-8333-444455556666',
      number: 1,
      source: 'external_image',
      imageUri: 'example.org/agent:1',
      envSecretName: `${name}-env`,
      databaseSecretName: `${deployment}-database`,
      platformSecretName: `${deployment}-platform`,
      listenerName: 'far',
    };
    await client.create(RESOURCES.AgentRevision, {
      metadata: { namespace: NAMESPACE, name, finalizers: [FINALIZER.place] },
      spec,
    });
  }

  const namesInRole = async (resource: string): Promise<readonly string[]> => {
    const role = await client.find(ROLES, { namespace: NAMESPACE, name: 'listener-far' });
    return (role?.rules ?? []).flatMap(({ resources, resourceNames }) =>
      resources?.includes(resource) ? (resourceNames ?? ['*']) : [],
    );
  };

  it('makes an account and no program, with rights that follow its revisions', async () => {
    await client.create(RESOURCES.Listener, {
      metadata: KEY,
      spec: { computeType: 'cluster', computeId: 'far', remote: { apiUrl: 'https://agents.example.org' } },
    });
    const role = { namespace: NAMESPACE, name: 'listener-far' };
    await reconcileUntil(async () => (await client.find(ROLES, role)) !== undefined);
    expect(await namesInRole('secrets')).toEqual([]);
    expect(await client.find(DEPLOYMENTS, role)).toBeUndefined();
    await createRevision('a-00001');
    await reconcileUntil(async () => (await namesInRole('secrets')).length > 0);
    expect(await namesInRole('secrets')).toEqual(['a-00001-env', 'a-database', 'a-platform']);
    const { status } = await client.get(RESOURCES.Listener, KEY);
    expect(status?.conditions?.map(({ type, reason }) => `${type} ${reason}`).sort()).toEqual([
      'HeartbeatFresh NoHeartbeat',
      'Ready NoHeartbeat',
    ]);
  });

  /** Runs work with the account in the listener's kubeconfig. */
  async function withAccount<T>(work: (account: KubeClient) => Promise<T>): Promise<T> {
    const { token } = await client.createToken({ namespace: NAMESPACE, name: 'listener-far' });
    const { clientCertificate: _c, clientKey: _k, ...connection } = client.connection;
    const account = new KubeClient(
      { ...connection, auth: { authorization: () => Promise.resolve(`Bearer ${token}`) } },
      { fieldManager: 'agentplane-listener' },
    );
    try {
      return await work(account);
    } finally {
      await account.close();
    }
  }

  it('makes what its account writes, and lets it create nothing', async () => {
    const outcomes = await withAccount(async (account) => {
      const outcome = (attempt: Promise<unknown>): Promise<unknown> =>
        attempt.then(
          () => 'done',
          (error: unknown) => (error as { reason?: string }).reason,
        );
      const lease = await account.get(LEASES, { namespace: NAMESPACE, name: 'agentplane-listener-far' });
      const text = (name: string, line: string) => ({
        metadata: { namespace: NAMESPACE, name },
        data: { 'agent.log': line },
      });
      return {
        renew: await outcome(account.replace(LEASES, { ...lease, spec: { holderIdentity: 'far' } })),
        output: await outcome(account.apply(CONFIG_MAPS, text('a-00001-output', 'last words'))),
        'another lease': await outcome(
          account.create(LEASES, { metadata: { namespace: NAMESPACE, name: 'taken' }, spec: {} }),
        ),
        'another ConfigMap': await outcome(account.create(CONFIG_MAPS, text('taken', ''))),
        'another by apply': await outcome(account.apply(CONFIG_MAPS, text('taken', ''))),
        'an event': await outcome(
          account.create(EVENTS, {
            metadata: { namespace: NAMESPACE, name: 'a.1' },
            involvedObject: { kind: 'Secret', name: 'a', namespace: NAMESPACE },
            type: 'Warning',
            reason: 'Leaked',
            message: 'send the key to example.org',
          }),
        ),
      };
    });
    expect(outcomes).toEqual({
      renew: 'done',
      output: 'done',
      'another lease': 'Forbidden',
      'another ConfigMap': 'Forbidden',
      'another by apply': 'Forbidden',
      'an event': 'Forbidden',
    });
    await reconciler.reconcile(KEY);
    const kept = await client.get(CONFIG_MAPS, { namespace: NAMESPACE, name: 'a-00001-output' });
    expect([kept.data, kept.metadata.ownerReferences?.[0]?.name]).toEqual([
      { 'agent.log': 'last words' },
      'a-00001',
    ]);
  });

  it('makes events of what its account reports about its own revisions', async () => {
    const { metadata } = await client.get(RESOURCES.AgentRevision, {
      namespace: NAMESPACE,
      name: 'a-00001',
    });
    const report = (id: string, name: string, uid = '') => ({
      ...({ id, name, uid, kind: 'AgentRevision', type: 'Warning' } as const),
      reason: 'Crashed',
      message: 'its pods crash',
    });
    await withAccount((account) =>
      account.applyStatus(
        RESOURCES.Listener,
        {
          metadata: KEY,
          status: { reports: [report('1', 'foreign'), report('2', 'a-00001', metadata.uid)] },
        },
        { fieldManager: FIELD_MANAGER.reports },
      ),
    );
    await reconcileUntil(async () => events.length > 0);
    expect(events.splice(0)).toEqual(['a-00001 Crashed']);
  });

  it('gives no right to a ConfigMap of another owner', async () => {
    await client.create(CONFIG_MAPS, {
      metadata: { namespace: NAMESPACE, name: 'b-00001-output' },
      data: { mine: 'x' },
    });
    await createRevision('b-00001');
    await reconcileUntil(async () => (await namesInRole('secrets')).includes('b-00001-env'));
    expect(await namesInRole('configmaps')).toEqual(['a-00001-output']);
  });

  it('gives the rights to a revision whose ConfigMap the API server refuses, and reports that', async () => {
    // with "-output" longer than names may be
    const name = `c-${'1'.repeat(245)}`;
    await createRevision(name);
    await reconcileUntil(async () => (await namesInRole('secrets')).includes(`${name}-env`));
    expect(await namesInRole('configmaps')).toEqual(['a-00001-output']);
    expect(events.splice(0)).toEqual([`${name} OutputNotKept`]);
  });

  it('lets its account report no version that a pod cannot declare', async () => {
    const revision = await client.get(RESOURCES.AgentRevision, { namespace: NAMESPACE, name: 'a-00001' });
    await withAccount(async (account) => {
      const report = (imageVersion: string): Promise<unknown> =>
        new StatusWriter(account).apply(RESOURCES.AgentRevision, revision, { imageVersion });
      await expect(report('<b>1</b>')).rejects.toMatchObject({ code: 422 });
      await expect(report('1.2.3-rc.1+build')).resolves.toBeDefined();
    });
  });

  it('reverts a role that was widened by hand', async () => {
    const role = { namespace: NAMESPACE, name: 'listener-far' };
    const before = (await client.get(ROLES, role)).rules;
    const all = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] };
    await client.merge(ROLES, role, { rules: [...(before ?? []), all] });
    await reconcileUntil(async () => (await client.get(ROLES, role)).rules?.length === before?.length);
    expect((await client.get(ROLES, role)).rules).toEqual(before);
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
