import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { parse } from 'yaml';
import { deploymentDatabases } from '#lib/deployment-database';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import { buildProgramBindings } from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentDeploymentSpec,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  deploymentWireStatus,
  FIELD_MANAGER,
  findCondition,
  NAMESPACES,
  NETWORK_POLICIES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  type ResourceRef,
  RESOURCES,
  ROLE_BINDINGS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
  statusReason,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { DatabaseServers } from '../../apps/controller/src/agent-deployment/database-servers.js';
import { DeploymentReconciler } from '../../apps/controller/src/agent-deployment/deployment-reconciler.js';
import { DeploymentProvisioning } from '../../apps/controller/src/agent-deployment/provision.js';
import { openCaches } from '../../apps/controller/src/caches.js';
import { findRealKubernetes, Kubectl, leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';
import { RealCluster } from '../support/real-cluster.js';

const home = findRealKubernetes();
if (!home) leaveOut('a real API server');

const NAMESPACE = 'ws-x';
const SETTINGS = { version: '1.2.3', apiUrl: 'http://api:8470', addresses: 'cluster-dns' } as const;
const SIZE = { dbCpu: 0.5, dbMemoryMb: 512, dbStorageGi: 5, dbMaxConnections: 90 };

/**
 * The reconciler of deployments on a real API server, whose own controllers make and count the pod of the database. No node
 * runs pods: the test reports what a kubelet would, and a Postgres of this machine answers for the one in the pod.
 */
(home ? describe : describe.skip)('a deployment that asks for a Postgres server of its own', () => {
  const postgres = testPostgres();
  let cluster: RealCluster | undefined;
  let client: KubeClient;
  /** With the rights of the program, and no others. */
  let controller: KubeClient;
  let informers: Informers;
  let reconciler: DeploymentReconciler;

  beforeAll(async () => {
    cluster = RealCluster.up(home ?? '');
    const connection = await loadKubeConnection({ kubeconfigPath: cluster.kubeconfig });
    client = new KubeClient(connection, { fieldManager: 'tester' });
    const kubectl = new Kubectl(join(home ?? '', 'bin', 'kubectl'), cluster.kubeconfig);
    await kubectl.run(['apply', '-f', join(repository, 'deploy/system.yaml')]);
    const { token } = await client.createToken({ namespace: 'agentplane-system', name: 'controller' });
    const { clientCertificate: _certificate, clientKey: _key, ...server } = connection;
    const auth = { authorization: async () => `Bearer ${token}` };
    controller = new KubeClient({ ...server, auth }, { fieldManager: FIELD_MANAGER.controller });
    for (const { plural } of Object.values(RESOURCES)) {
      const text = readFileSync(join(repository, `crds/agentplane.dev_${plural}.yaml`), 'utf8');
      await client.apply(CUSTOM_RESOURCE_DEFINITIONS, parse(text) as CustomResourceDefinition);
    }
    for (const ref of Object.values(RESOURCES) as readonly ResourceRef[])
      await waitFor(() => client.list(ref).then(() => true));
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE, labels } });
    for (const binding of buildProgramBindings(NAMESPACE, 'agentplane-system'))
      await client.create(ROLE_BINDINGS, binding);
    const tenantId = '7b0c1a52-1111-4222-8333-444455556666';
    const spec = { tenantId, plan: 'enterprise' } as const;
    await client.create(RESOURCES.Workspace, { metadata: { name: 'x' }, spec });

    informers = new Informers({
      client: controller,
      log: createLogger('test', 'silent'),
      clock: systemClock,
    });
    const caches = openCaches(informers, { systemNamespace: 'agentplane-system', hasDatabaseServers: true });
    const provisioning = new DeploymentProvisioning(controller, {
      projects: { ensure: async () => PROJECT, find: async () => PROJECT },
      apiKeys: {
        mint: async () => ({ key: 'k' }) as never,
        revokeOfDeployment: async () => undefined as never,
      },
      databases: deploymentDatabases,
      servers: new DatabaseServers({
        client: controller,
        server: { image: 'postgres:18-alpine', userId: 70, controllerNamespace: 'agentplane-system' },
        settings: SETTINGS,
        // the same server, under a name of its own
        uriOf: () => postgres.uri.replace('127.0.0.1', 'localhost'),
      }),
      adminUri: postgres.uri,
      runsProcesses: false,
      passwordDays: 0,
      clock: systemClock,
    });
    const events = { record: () => undefined };
    reconciler = new DeploymentReconciler(caches, {
      client: controller,
      clock: systemClock,
      events,
      provisioning,
      archiver: { store: async () => undefined, forget: async () => undefined },
      registrySecrets: [],
      agentVolumes: [],
      agentDefaults: {},
    });
    informers.start();
    await informers.synced();
  });

  afterAll(async () => {
    await informers?.stop();
    await controller?.close();
    await client?.close();
    cluster?.down();
  });

  const keyOf = (name: string) => ({ namespace: NAMESPACE, name });

  async function create(name: string, resourceSpec: object): Promise<void> {
    const spec = {
      source: 'external_image',
      sourceConfig: { resourceSpec },
      sourceRevisionConfig: { imageUri: 'example.org/agent:1' },
    } as AgentDeploymentSpec;
    await client.create(RESOURCES.AgentDeployment, { metadata: keyOf(name), spec });
  }

  const change = (name: string, resourceSpec: object) =>
    client.merge(RESOURCES.AgentDeployment, keyOf(name), { spec: { sourceConfig: { resourceSpec } } });

  /** What REST and kubectl show, once it is as expected. */
  async function reconcileUntil(name: string, expected: RegExp): Promise<AgentDeployment> {
    let found: AgentDeployment | undefined;
    let shown = '';
    const look = async (): Promise<boolean> => {
      await reportAgain(name);
      await reconciler.reconcile(keyOf(name)).catch(() => undefined);
      found = await client.get(RESOURCES.AgentDeployment, keyOf(name));
      const database = findCondition(found.status?.conditions, 'DatabaseReady');
      const { reason = '', message = '' } = statusReason(found) ?? {};
      const ignored = findCondition(found.status?.conditions, 'FieldsIgnored')?.message;
      shown = `${deploymentWireStatus(found)} ${reason}: ${message} | ${database?.status} ${database?.message} | ${ignored ?? '-'}`;
      return expected.test(shown);
    };
    await waitFor(look, { what: `${name} to be as ${String(expected)}` }).catch((error) => {
      throw new Error(`it is: ${shown}`, { cause: error });
    });
    if (!found) throw new Error(`${name} does not exist`);
    return found;
  }

  /** Pods that were reported, and whether they are ready. */
  const reported = new Map<string, boolean>();

  /** The scheduler, which knows of no node, tries a pod again and takes back that one has it. */
  async function reportAgain(name: string): Promise<void> {
    const isReady = reported.get(name);
    if (isReady === undefined) return;
    const pod = await client.find(PODS, keyOf(`${name}-postgres-0`));
    const scheduled = pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    if (scheduled?.status === 'False') await reportPod(name, isReady);
  }

  /** As a kubelet reports it. */
  async function reportPod(name: string, isReady: boolean): Promise<void> {
    reported.set(name, isReady);
    await waitFor(async () => (await client.find(PODS, keyOf(`${name}-postgres-0`))) !== undefined);
    await client.mergeStatus(PODS, keyOf(`${name}-postgres-0`), {
      status: {
        phase: 'Running',
        conditions: [
          { type: 'PodScheduled', status: 'True' },
          { type: 'Ready', status: isReady ? 'True' : 'False' },
        ],
      },
    });
  }

  const ADDRESS = async (name: string): Promise<URL> => {
    const secret = await client.get(SECRETS, keyOf(`${name}-database`));
    return new URL(Buffer.from(secret.data?.['POSTGRES_URI'] ?? '', 'base64').toString());
  };

  it('takes its database once the pod is ready, and reports until then why no node takes it', async () => {
    await create('a', SIZE);
    await reconcileUntil(
      'a',
      /^AWAITING_DATABASE DatabaseStarting: waiting for .* StatefulSet a-postgres: no node takes its pod: .*nodes available.* \| False waiting/,
    );
    expect(await client.find(SECRETS, keyOf('a-database'))).toBeUndefined();
    const claim = await client.get(PERSISTENT_VOLUME_CLAIMS, keyOf('a-postgres'));
    expect(claim.spec.resources?.requests).toEqual({ storage: '5Gi' });
    expect((await client.get(SERVICES, keyOf('a-postgres'))).spec.clusterIP).toBe('None');
    const { spec: policy } = await client.get(NETWORK_POLICIES, keyOf('a-postgres'));
    expect(policy.policyTypes).toEqual(['Ingress', 'Egress']);
    const pod = await client.get(PODS, keyOf('a-postgres-0'));
    expect(pod.spec.containers[0]?.resources).toEqual({
      requests: { cpu: '500m', memory: '512Mi' },
      limits: { cpu: '1', memory: '1Gi' },
    });
    expect(pod.metadata.labels).not.toHaveProperty('agentplane.dev/deployment');

    await reportPod('a', true);
    await reconcileUntil(
      'a',
      /^READY .* True database exists, on a server of its own, StatefulSet a-postgres \| -$/,
    );
    const address = await ADDRESS('a');
    expect(address.hostname).toBe('localhost');
    const session = new pg.Client({ connectionString: address.toString() });
    await session.connect();
    const { rows } = await session.query<{ name: string; connections: number; super: boolean }>(
      'SELECT rolname AS name, rolconnlimit AS connections, rolsuper AS super FROM pg_roles WHERE rolname = current_user',
    );
    await session.end();
    // a third of what the server has would be 32
    expect(rows).toEqual([{ name: address.username, connections: 90, super: false }]);
  });

  it('waits again while the pod is not ready', async () => {
    await reportPod('a', false);
    await reconcileUntil(
      'a',
      /^AWAITING_DATABASE DatabaseStarting: waiting for .* its pod is starting \| False/,
    );
    await reportPod('a', true);
    await reconcileUntil('a', /^READY .* True database exists/);
  });

  it('keeps its volume when no size is asked for any longer, and reports one that the cluster refuses', async () => {
    await change('a', { dbStorageGi: null });
    await reconcileUntil('a', /^READY .* True database exists/);
    const claim = await client.get(PERSISTENT_VOLUME_CLAIMS, keyOf('a-postgres'));
    expect(claim.spec.resources?.requests).toEqual({ storage: '5Gi' });
    await change('a', { dbStorageGi: 4 });
    await reconcileUntil(
      'a',
      /^AWAITING_DATABASE DatabaseRefused: applying PersistentVolumeClaim a-postgres for the database failed: /,
    );
    await change('a', { dbStorageGi: 5 });
    await reconcileUntil('a', /^READY .* True database exists/);
  });

  it('refuses to begin with an empty one when the password or its Secret is lost', async () => {
    const secret = await client.get(SECRETS, keyOf('a-postgres'));
    await client.merge(SECRETS, keyOf('a-postgres'), { data: { password: null } });
    await reconcileUntil(
      'a',
      /^AWAITING_DATABASE DatabaseRefused: .* Secret a-postgres does not have the password/,
    );
    await client.delete(SECRETS, keyOf('a-postgres'));
    await reconcileUntil(
      'a',
      /^AWAITING_DATABASE DatabaseRefused: .* Secret a-postgres does not have the password/,
    );
    const { name, labels = {}, annotations = {}, ownerReferences = [] } = secret.metadata;
    await client.create(SECRETS, {
      metadata: { ...keyOf(name), labels, annotations, ownerReferences },
      data: secret.data ?? {},
    });
    await reconcileUntil('a', /^READY .* True database exists, on a server of its own/);
  });

  it('removes the server with its volume and its Secret when it is deleted', async () => {
    await client.delete(RESOURCES.AgentDeployment, keyOf('a'));
    await waitFor(async () => {
      await reconciler.reconcile(keyOf('a')).catch(() => undefined);
      return (await client.find(RESOURCES.AgentDeployment, keyOf('a'))) === undefined;
    });
    const refs: readonly ResourceRef[] = [
      STATEFUL_SETS,
      SERVICES,
      PERSISTENT_VOLUME_CLAIMS,
      NETWORK_POLICIES,
      SECRETS,
    ];
    for (const ref of refs) expect(await client.find(ref, keyOf('a-postgres'))).toBeUndefined();
  });

  it('stays on the shared server where its database began there, and reports that', async () => {
    await create('b', { dbMaxConnections: 90 });
    const made = await reconcileUntil('b', /^READY .* True database exists, with 32 connections at most/);
    expect(findCondition(made.status?.conditions, 'FieldsIgnored')).toBeUndefined();
    await change('b', SIZE);
    await reconcileUntil(
      'b',
      /^READY .* with 32 .* \| dbCpu, dbMemoryMb, dbStorageGi have no effect: the database lies on the shared Postgres server since the deployment was created, and is not moved; ask for one of its own in a new deployment$/,
    );
    expect((await ADDRESS('b')).hostname).toBe('127.0.0.1');
    expect(await client.find(STATEFUL_SETS, keyOf('b-postgres'))).toBeUndefined();
  });
});

const PROJECT = { id: '11111111-1111-4111-8111-111111111111' } as never;
