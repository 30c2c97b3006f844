import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import {
  type AgentDeployment,
  ANNOTATION,
  type BulkExport,
  idOf,
  isConditionTrue,
  RESOURCES,
  SECRETS,
} from '#lib/resources';
import { hasRealKubernetes, testApiServer, waitFor } from '#lib/testing';
import { findBuiltKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { newDataFolder, removeDataFolder, repository, startPlatform } from '../support/platform.js';

const kubectlBinary = findBuiltKubectl();
const HERE = 'ws-default';
const encoded = (text: string): string => Buffer.from(text).toString('base64');
const annotationsOf = ({ metadata }: { readonly metadata: { readonly annotations?: object } }) =>
  metadata.annotations;

if (!hasRealKubernetes || !kubectlBinary) leaveOut('a real Kubernetes');

(hasRealKubernetes && kubectlBinary ? describe : describe.skip)('agentplane migrate resources', () => {
  const server = testApiServer();
  const [machine, empty] = [newDataFolder(), newDataFolder()];
  let cluster: KubeClient;
  let ids: Readonly<Record<string, string | undefined>>;
  let tenantId: string;

  const migrateWith = (data: string, ...more: readonly string[]) => {
    const args = ['migrate', 'resources', '--data', data, '--kubeconfig', server.kubeconfigPath, ...more];
    const ran = spawnSync(process.execPath, ['bin/agentplane.js', ...args], {
      cwd: repository,
      encoding: 'utf8',
    });
    return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
  };
  const migrate = (data: string, ...more: readonly string[]) =>
    migrateWith(data, '--image-prefix', 'registry.example.com/team/', ...more);
  const clientOf = async (kubeconfigPath: string) =>
    new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'test' });

  /** A deployment with variables, a destination with keys, and a schedule, as people make them. */
  async function fill(client: KubeClient): Promise<void> {
    const at = (name: string) => ({ namespace: HERE, name });
    const destination = await client.create(RESOURCES.BulkExportDestination, {
      metadata: at('store'),
      spec: {
        type: 'object_store',
        config: { bucketName: 'bucket', endpointUrl: 'http://127.0.0.1:9', includeBucketInPrefix: true },
        credentialsSecretRef: { name: 'keys' },
      },
    });
    await client.create(SECRETS, {
      metadata: {
        ...at('keys'),
        ownerReferences: [
          {
            apiVersion: 'agentplane.dev/v1alpha1',
            kind: 'BulkExportDestination',
            name: 'store',
            uid: destination.metadata.uid ?? '',
          },
        ],
      },
      data: { access_key_id: encoded('a'), secret_access_key: encoded('s') },
    });
    await client.create(SECRETS, {
      metadata: { ...at('variables'), labels: { team: 'x' } },
      immutable: true,
      data: { TOKEN: encoded('é') },
    });
    await client.create(RESOURCES.AgentDeployment, {
      metadata: { ...at('agent'), annotations: { note: 'kept' } },
      spec: {
        source: 'internal_image',
        sourceConfig: {},
        secretsRef: { name: 'variables' },
        sourceRevisionConfig: { imageUri: 'sample-agent' },
      } as unknown as AgentDeployment['spec'],
    });
    await client.create(RESOURCES.BulkExport, {
      metadata: at('hourly'),
      spec: {
        destinationRef: { name: 'store' },
        tracingProject: { name: 'p' },
        suspend: true,
        startTime: '2026-01-01T00:00:00Z',
        intervalHours: 1,
      } as unknown as BulkExport['spec'],
    });
    await client.create(RESOURCES.BulkExport, {
      metadata: at('once'),
      spec: {
        destinationRef: { name: 'store' },
        tracingProject: { name: 'p' },
        suspend: true,
        startTime: '2026-01-01T00:00:00Z',
        endTime: '2026-01-02T00:00:00Z',
      } as unknown as BulkExport['spec'],
    });
    const found = () => client.get(RESOURCES.AgentDeployment, at('agent'));
    await waitFor(async () => (await found()).status?.id !== undefined, { what: 'the id of the deployment' });
    ids = {
      agent: (await found()).status?.id,
      store: idOf(await client.get(RESOURCES.BulkExportDestination, at('store'))),
      hourly: idOf(await client.get(RESOURCES.BulkExport, at('hourly'))),
    };
  }

  beforeAll(async () => {
    cluster = await clientOf(server.kubeconfigPath);
    const platform = await startPlatform(machine);
    ({ tenantId } = platform.credentials);
    const client = await clientOf(`${machine}/kubeconfig`);
    await fill(client);
    await client.close();
    const refused = migrate(machine);
    await platform.stop();
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is running; stop it with')]);
  });

  afterAll(async () => {
    await cluster?.close();
    for (const each of [machine, empty]) removeDataFolder(each);
  });

  it('refuses images of the own store of the machine without a registry', () => {
    const { code, stderr } = migrateWith(machine);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`cannot pull the images of ${HERE}/agent, which only this machine has; push`),
    ]);
  });

  it.each([
    [['--as', 'x'], '--as names the copy of one workspace'],
    [['--back', '--image-prefix', 'x/'], '--image-prefix is for images of this machine'],
  ])('refuses %j as a wrong use', (more, message) => {
    const { code, stderr } = migrateWith(machine, ...more);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('refuses a cluster in which the platform is not installed', () => {
    const { code, stderr } = migrate(machine);
    expect([code, stderr]).toEqual([1, expect.stringContaining('install the platform there first')]);
  });

  it('copies a workspace with its ids, its Secrets and what owns them, suspended', async () => {
    const kubectl = new Kubectl(kubectlBinary ?? '', server.kubeconfigPath);
    await kubectl.run(['apply', '--server-side', '-f', `${repository}/crds`]);
    await waitFor(() => cluster.list(RESOURCES.Workspace).then(() => true), { what: 'the kinds' });
    const { code, stdout, stderr } = migrate(machine);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`AgentDeployment ${HERE}/agent\n`)]);
    expect(stdout).toContain('push registry.example.com/team/sample-agent for deployment agent');
    expect(stdout).toContain('destination store names a store of this machine');
    expect(stdout).toContain('1 exports that are no schedules, or have ended, were left');
    const workspace = await cluster.get(RESOURCES.Workspace, { name: 'default' });
    expect(workspace.spec.tenantId).toBe(tenantId);
    expect(workspace.metadata.annotations).not.toHaveProperty([ANNOTATION.copying]);
    const at = (name: string) => ({ namespace: HERE, name });
    const agent = await cluster.get(RESOURCES.AgentDeployment, at('agent'));
    expect(annotationsOf(agent)).toMatchObject({ [ANNOTATION.id]: ids['agent'], note: 'kept' });
    expect(agent.spec).toMatchObject({
      suspend: true,
      source: 'external_image',
      secretsRef: { name: 'variables' },
      sourceRevisionConfig: { imageUri: 'registry.example.com/team/sample-agent' },
    });
    const store = await cluster.get(RESOURCES.BulkExportDestination, at('store'));
    expect(annotationsOf(store)).toMatchObject({ [ANNOTATION.id]: ids['store'] });
    const keys = await cluster.get(SECRETS, at('keys'));
    expect(keys.data).toEqual({ access_key_id: encoded('a'), secret_access_key: encoded('s') });
    expect(keys.metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'BulkExportDestination', name: 'store', uid: store.metadata.uid }),
    ]);
    expect(await cluster.get(SECRETS, at('variables'))).toMatchObject({
      immutable: true,
      data: { TOKEN: encoded('é') },
      metadata: { labels: { team: 'x' } },
    });
    const schedule = await cluster.get(RESOURCES.BulkExport, at('hourly'));
    expect(schedule.spec.suspend).toBe(true);
    expect(annotationsOf(schedule)).toMatchObject({ [ANNOTATION.id]: ids['hourly'] });
    const { items } = await cluster.list(SECRETS, { namespace: HERE });
    // those of the deployment's key, its database and the listener are made anew
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual([
      'keys',
      'local-destination',
      'variables',
    ]);
    expect(await cluster.find(RESOURCES.BulkExport, at('once'))).toBeUndefined();
  });

  it('refuses a copy that is complete, and a tenant under another name', () => {
    const again = migrate(machine);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('was copied completely before')]);
    const other = migrate(machine, '--workspace', 'default', '--as', 'other');
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringContaining(`tenant ${tenantId} is that of workspace default`),
    ]);
  });

  it('goes on with a copy that was interrupted, and leaves what it made before', async () => {
    const at = { namespace: HERE, name: 'agent' };
    const before = await cluster.get(RESOURCES.BulkExportDestination, { namespace: HERE, name: 'store' });
    await cluster.delete(RESOURCES.AgentDeployment, at);
    await cluster.mergeMetadata(
      RESOURCES.Workspace,
      { name: 'default' },
      { annotations: { [ANNOTATION.copying]: 'true' } },
    );
    const { code, stderr } = migrate(machine);
    expect([code, stderr]).toEqual([0, `AgentDeployment ${HERE}/agent\n`]);
    const after = await cluster.get(RESOURCES.BulkExportDestination, { namespace: HERE, name: 'store' });
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(annotationsOf(await cluster.get(RESOURCES.AgentDeployment, at))).toMatchObject({
      [ANNOTATION.id]: ids['agent'],
    });
  });

  it('refuses an object in its way', async () => {
    const at = { namespace: HERE, name: 'variables' };
    await cluster.delete(SECRETS, at);
    await cluster.create(SECRETS, { metadata: at });
    await cluster.mergeMetadata(
      RESOURCES.Workspace,
      { name: 'default' },
      { annotations: { [ANNOTATION.copying]: 'true' } },
    );
    const { code, stderr } = migrate(machine);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`Secret ${HERE}/variables of the other installation is not of this copy`),
    ]);
    await cluster.delete(SECRETS, at);
    expect(migrate(machine).code).toBe(0);
  });

  it('copies back into another machine, whose controller goes on with the same ids', async () => {
    const first = await startPlatform(empty);
    await first.stop();
    const taken = migrateWith(empty, '--back');
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('choose another name by --as')]);
    const answer = migrateWith(empty, '--back', '--workspace', 'default', '--as', 'moved');
    expect(answer).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Copied workspace default as moved/),
    });
    const platform = await startPlatform(empty);
    const client = await clientOf(`${empty}/kubeconfig`);
    try {
      await waitFor(
        async () =>
          isConditionTrue(
            (await client.get(RESOURCES.Workspace, { name: 'moved' })).status?.conditions,
            'Ready',
          ),
        { what: 'the workspace' },
      );
      const agent = { namespace: 'ws-moved', name: 'agent' };
      const found = () => client.get(RESOURCES.AgentDeployment, agent);
      await waitFor(async () => (await found()).status?.id === ids['agent'], {
        timeoutMs: 60_000,
        what: 'the id of the deployment',
      });
      const { data } = await client.get(SECRETS, { namespace: 'ws-moved', name: 'variables' });
      expect(data).toEqual({ TOKEN: encoded('é') });
      expect((await found()).spec.suspend).toBe(true);
    } finally {
      await client.close();
      await platform.stop();
    }
  });
});
