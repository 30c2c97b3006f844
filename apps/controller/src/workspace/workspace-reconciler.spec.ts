import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DEFAULT_EXPORT_LIMITS } from '#lib/export-plan';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import type { PodSecurityLevel } from '#lib/manifests';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  FIELD_MANAGER,
  FINALIZER,
  findCondition,
  NAMESPACES,
  NETWORK_POLICIES,
  type ResourceRef,
  RESOURCES,
  ROLE_BINDINGS,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { hasRealKubernetes, testApiServer, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import type { TenantRest } from '#lib/trace-store';
import { openCaches } from '../caches.js';
import { type WorkspaceOptions, WorkspaceReconciler } from './workspace-reconciler.js';

const LABEL = 'pod-security.kubernetes.io/enforce';
const CRDS = join(import.meta.dirname, '../../../../crds');

(hasRealKubernetes ? describe : describe.skip)('a workspace on a real API server', () => {
  const server = testApiServer();
  let client: KubeClient;
  let controller: KubeClient;
  let informers: Informers;
  let caches: ReturnType<typeof openCaches>;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'tester' });
    controller = new KubeClient(connection, { fieldManager: FIELD_MANAGER.controller });
    for (const { plural } of Object.values(RESOURCES)) {
      const text = readFileSync(join(CRDS, `agentplane.dev_${plural}.yaml`), 'utf8');
      await client.apply(CUSTOM_RESOURCE_DEFINITIONS, parse(text) as CustomResourceDefinition);
    }
    for (const ref of Object.values(RESOURCES) as readonly ResourceRef[])
      await waitFor(() => client.list(ref).then(() => true));
    informers = new Informers({
      client: controller,
      log: createLogger('test', 'silent'),
      clock: systemClock,
    });
    caches = openCaches(informers, { systemNamespace: 'agentplane-system', hasDatabaseServers: false });
    informers.start();
    await informers.synced();
  });

  afterAll(async () => {
    await informers?.stop();
    await controller?.close();
    await client?.close();
  });

  /** Tenants that the store was told to remove, and what it answers next: nothing is left. */
  const removed: string[] = [];
  const rests: TenantRest[] = [];

  const levelOf = async (name: string) =>
    (await client.find(NAMESPACES, { name: `ws-${name}` }))?.metadata.labels?.[LABEL];
  const conditionOf = async (name: string) =>
    findCondition((await client.get(RESOURCES.Workspace, { name })).status?.conditions, 'NamespaceReady');

  function reconcilerOf(
    podSecurity: PodSecurityLevel | undefined,
    agentEgress?: WorkspaceOptions['agentEgress'],
  ): WorkspaceReconciler {
    const options = {
      agentEgress,
      systemNamespace: 'agentplane-system',
      podSecurity,
      limits: DEFAULT_EXPORT_LIMITS,
      history: { keptMs: 3_600_000, keptExports: 200 },
    };
    const store = {
      tenants: {
        async remove(tenantId: string) {
          removed.push(tenantId);
          return rests.shift();
        },
      },
    };
    return new WorkspaceReconciler(caches, controller, systemClock, store, options);
  }

  /** Reconciles until the workspace is ready and its namespace is as the caches of the next pass show it. */
  async function settle(
    name: string,
    podSecurity: PodSecurityLevel | undefined,
    agentEgress?: WorkspaceOptions['agentEgress'],
  ): Promise<void> {
    const reconciler = reconcilerOf(podSecurity, agentEgress);
    await waitFor(() => Promise.resolve(caches.workspaces.find({ name }) !== undefined));
    await waitFor(async () => {
      await reconciler.reconcile({ name }).catch((error: unknown) => {
        // the cache lags: the next pass sees more
        if (!/conflict|modified/i.test(String(error))) throw error;
      });
      return (await conditionOf(name))?.status === 'True';
    });
    const before = await client.get(NAMESPACES, { name: `ws-${name}` });
    await waitFor(() =>
      Promise.resolve(
        caches.namespaces.find({ name: `ws-${name}` })?.metadata.resourceVersion ===
          before.metadata.resourceVersion,
      ),
    );
    await reconciler.reconcile({ name });
  }

  const tenantOf = (tenant: string) => `7b0c1a52-1111-4222-8333-${tenant.padStart(12, '0')}`;

  async function make(name: string, tenant: string, finalizers: string[] = []): Promise<void> {
    const spec = { tenantId: tenantOf(tenant), plan: 'enterprise' } as const;
    await client.create(RESOURCES.Workspace, { metadata: { name, finalizers }, spec });
  }

  /** Deletes a workspace whose namespace is gone. */
  async function makeEnding(name: string, tenant: string): Promise<void> {
    await make(name, tenant, [FINALIZER.workspace]);
    await client.delete(RESOURCES.Workspace, { name });
    await waitFor(() =>
      Promise.resolve(caches.workspaces.find({ name })?.metadata.deletionTimestamp !== undefined),
    );
  }

  /** A controller manager would. */
  async function giveAccount(name: string): Promise<void> {
    const metadata = { namespace: `ws-${name}`, name: 'default' };
    await waitFor(() => client.find(NAMESPACES, { name: `ws-${name}` }));
    await client.create(SERVICE_ACCOUNTS, { metadata });
  }

  it('bounds what agents reach, and no longer when that is switched off', async () => {
    const policyOf = () =>
      client.find(NETWORK_POLICIES, { namespace: 'ws-bounded', name: 'agentplane-agents' });
    const rules = [{ to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }] }];
    await make('bounded', '9');
    await Promise.all([settle('bounded', undefined, { rules, databasePort: 6432 }), giveAccount('bounded')]);
    expect((await policyOf())?.spec.egress).toEqual([
      { to: [{ podSelector: {} }] },
      { ports: [{ port: 6432, protocol: 'TCP' }] },
      ...rules,
    ]);
    await settle('bounded', undefined);
    expect(await policyOf()).toBeUndefined();
  });

  it('has its namespace enforce the level that is asked for, also one that exists', async () => {
    await make('plain', '1');
    await Promise.all([settle('plain', undefined), giveAccount('plain')]);
    expect(await levelOf('plain')).toBeUndefined();
    await settle('plain', 'baseline');
    expect(await levelOf('plain')).toBe('baseline');
    await settle('plain', 'restricted');
    expect(await levelOf('plain')).toBe('restricted');
    expect((await conditionOf('plain'))?.message).toBe('namespace ws-plain exists');
    // without a level of its own the platform leaves that as it is
    await settle('plain', undefined);
    expect(await levelOf('plain')).toBe('restricted');
  });

  it('has deployments of a remote listener removed before its namespace, which its account goes with', async () => {
    const namespace = 'ws-far';
    const name = 'agent';
    await make('far', '3');
    await Promise.all([settle('far', undefined), giveAccount('far')]);
    await client.create(RESOURCES.Listener, {
      metadata: { namespace, name: 'elsewhere' },
      spec: { computeType: 'cluster', computeId: 'far', remote: { apiUrl: 'https://hub.example.com' } },
    });
    await client.create(RESOURCES.AgentDeployment, {
      // the finalizer of a listener that still clears up
      metadata: { namespace, name, finalizers: ['agentplane.dev/tested'] },
      spec: {
        source: 'external_image',
        sourceConfig: {},
        sourceRevisionConfig: { imageUri: 'local/none' },
        suspend: false,
        revisionHistoryLimit: 10,
      },
    });
    const seen = () => caches.listeners.list(namespace).length + caches.deployments.list(namespace).length;
    await waitFor(() => Promise.resolve(seen() === 2));
    await client.delete(RESOURCES.Workspace, { name: 'far' });
    await waitFor(() =>
      Promise.resolve(caches.workspaces.find({ name: 'far' })?.metadata.deletionTimestamp !== undefined),
    );
    const reconciler = reconcilerOf(undefined);
    const isEnding = async () =>
      (await client.get(NAMESPACES, { name: namespace })).metadata.deletionTimestamp !== undefined;
    await reconciler.reconcile({ name: 'far' });
    const deployment = await client.get(RESOURCES.AgentDeployment, { namespace, name });
    expect(deployment.metadata.deletionTimestamp).toBeDefined();
    await reconciler.reconcile({ name: 'far' });
    expect(await isEnding()).toBe(false);
    expect(await conditionOf('far')).toMatchObject({
      status: 'False',
      reason: 'Deleting',
      message: 'namespace ws-far is deleted once listeners elsewhere have removed what runs there of agent',
    });
    await client.merge(RESOURCES.AgentDeployment, { namespace, name }, { metadata: { finalizers: null } });
    await waitFor(() => Promise.resolve(caches.deployments.list(namespace).length === 0));
    await reconciler.reconcile({ name: 'far' });
    expect(await isEnding()).toBe(true);
  });

  it("says in the namespace's own words what its deletion waits for", async () => {
    await make('busy', '7', [FINALIZER.workspace]);
    await Promise.all([settle('busy', undefined), giveAccount('busy')]);
    await client.delete(RESOURCES.Workspace, { name: 'busy' });
    await waitFor(() =>
      Promise.resolve(caches.workspaces.find({ name: 'busy' })?.metadata.deletionTimestamp !== undefined),
    );
    const reconciler = reconcilerOf(undefined);
    await reconciler.reconcile({ name: 'busy' });
    expect(await conditionOf('busy')).toMatchObject({
      status: 'False',
      reason: 'Deleting',
      message: 'deleting namespace ws-busy',
    });
    const condition = (type: string, status: 'True' | 'False', message: string) => ({
      type,
      status,
      message,
    });
    const conditions = [
      condition('NamespaceDeletionContentFailure', 'False', 'All content successfully deleted'),
      condition('NamespaceContentRemaining', 'True', 'pods. has 1 resource instances'),
      condition('NamespaceFinalizersRemaining', 'True', 'a.example.com/b in 1 resource instances'),
    ];
    await client.merge(
      NAMESPACES,
      { name: 'ws-busy' },
      { status: { conditions } },
      { subresource: 'status' },
    );
    await reconciler.reconcile({ name: 'busy' });
    expect((await conditionOf('busy'))?.message).toBe(
      'deleting namespace ws-busy: pods. has 1 resource instances; a.example.com/b in 1 resource instances',
    );
  });

  it('stays until no row of its tenant is left in the trace store, and names what is left', async () => {
    await makeEnding('ending', '5');
    removed.length = 0;
    rests.push({ kind: 'projects', projects: 3 }, { kind: 'rows', table: 'prompts' });
    for (const left of ['those of 3 tracing projects are left', 'those of prompts and others are left']) {
      await reconcilerOf(undefined).reconcile({ name: 'ending' });
      expect(await conditionOf('ending')).toMatchObject({
        status: 'False',
        reason: 'Deleting',
        message: `the namespace is deleted; removing rows of the trace store: ${left}`,
      });
    }
    // another controller continues
    await reconcilerOf(undefined).reconcile({ name: 'ending' });
    expect(await client.find(RESOURCES.Workspace, { name: 'ending' })).toBeUndefined();
    expect(removed).toEqual([tenantOf('5'), tenantOf('5'), tenantOf('5')]);
  });

  it('leaves the rows of a tenant to the older workspace that has it', async () => {
    await make('older', '6');
    const { creationTimestamp } = (await client.get(RESOURCES.Workspace, { name: 'older' })).metadata;
    // times of creation are whole seconds
    await waitFor(() => Promise.resolve(Date.now() >= Date.parse(creationTimestamp ?? '') + 1_000));
    await makeEnding('younger', '6');
    removed.length = 0;
    await reconcilerOf(undefined).reconcile({ name: 'younger' });
    expect(await client.find(RESOURCES.Workspace, { name: 'younger' })).toBeUndefined();
    expect(removed).toEqual([]);
  });

  it('keeps its right to Secrets until no finalizer of the namespace needs it', async () => {
    const namespace = 'ws-left';
    const binding = { namespace, name: 'agentplane-controller-secrets' };
    const deployment = { namespace, name: 'agent' };
    await make('left', '4');
    await Promise.all([settle('left', undefined), giveAccount('left')]);
    await client.create(RESOURCES.AgentDeployment, {
      metadata: { ...deployment, finalizers: ['agentplane.dev/tested'] },
      spec: {
        source: 'external_image',
        sourceConfig: {},
        sourceRevisionConfig: { imageUri: 'local/none' },
        suspend: false,
        revisionHistoryLimit: 10,
      },
    });
    // a controller manager deletes everything in a namespace that ends
    await client.delete(NAMESPACES, { name: namespace });
    await client.delete(ROLE_BINDINGS, binding);
    await client.delete(RESOURCES.AgentDeployment, deployment);
    await waitFor(() =>
      Promise.resolve(caches.namespaces.find({ name: namespace })?.metadata.deletionTimestamp !== undefined),
    );
    const reconciler = reconcilerOf(undefined);
    await reconciler.reconcile({ name: 'left' });
    expect(await client.find(ROLE_BINDINGS, binding)).toBeDefined();
    await client.merge(RESOURCES.AgentDeployment, deployment, { metadata: { finalizers: null } });
    await reconciler.reconcile({ name: 'left' });
    expect(await client.find(ROLE_BINDINGS, binding)).toBeUndefined();
  });

  it('leaves the level that a person has set, and reports it', async () => {
    await make('kept', '2');
    await Promise.all([settle('kept', 'baseline'), giveAccount('kept')]);
    expect(await levelOf('kept')).toBe('baseline');
    await client.merge(NAMESPACES, { name: 'ws-kept' }, { metadata: { labels: { [LABEL]: 'privileged' } } });
    await settle('kept', 'baseline');
    expect(await levelOf('kept')).toBe('privileged');
    expect((await conditionOf('kept'))?.message).toBe(
      "namespace ws-kept exists; the level of Pod Security is not the platform's to set there, and is privileged",
    );
  });
});
