import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { itLong, waitFor } from '#lib/testing';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { ArgoHealth, type Checked, FluxHealth } from './health-checks.js';

const binary = findKubectl();
if (!binary) leaveOut('kubectl');

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly time: string;
  readonly fieldsV1: object;
}

interface Live extends Checked {
  readonly kind: string;
  readonly metadata: Checked['metadata'] & {
    readonly name: string;
    readonly managedFields?: readonly Entry[];
  };
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec?: object;
  readonly data?: object;
}

/** How each tool applies: its field manager, the labels by which it finds again what it applied, and how it deletes. */
const TOOLS = [
  {
    tool: 'Flux',
    manager: 'kustomize-controller',
    workspace: 'flux',
    cascade: 'background',
    tenantId: 'b5b5e9d6-0c8a-4b8e-9d5b-3f1d0a2b4c01',
    labels: {
      'kustomize.toolkit.fluxcd.io/name': 'agents',
      'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
    },
    // of what is pruned the last applied goes first
    pruned: ['bulkexport', 'agentdeployment', 'bulkexportdestination', 'secret', 'listener', 'workspace'],
  },
  {
    tool: 'Argo CD',
    manager: 'argocd-controller',
    workspace: 'argo',
    cascade: 'foreground',
    tenantId: 'b5b5e9d6-0c8a-4b8e-9d5b-3f1d0a2b4c02',
    labels: { 'app.kubernetes.io/instance': 'agents' },
    // the worst order: everything loses first what it depends on
    pruned: ['listener', 'secret', 'bulkexportdestination', 'agentdeployment', 'bulkexport', 'workspace'],
  },
] as const;

const GROUP = { apiVersion: 'agentplane.dev/v1alpha1' };

/** The fields of a manifest as managedFields writes them. */
function fieldsOf(value: object): object {
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      `f:${name}`,
      typeof member === 'object' && member !== null ? fieldsOf(member) : {},
    ]),
  );
}

(binary ? describe : describe.skip)('a repository of manifests', () => {
  const platform = sharedPlatform();

  describe.each(TOOLS)('a manifest applied by $tool', (tool) => {
    const { manager, workspace, labels } = tool;
    // the two differ in their labels and in the order of what they prune
    const itOften = tool.tool === 'Flux' ? itLong : it;
    const namespace = `ws-${workspace}`;
    const argo = new ArgoHealth();
    const flux = new FluxHealth();
    let kubectl: Kubectl;

    const TENANT: Manifest = {
      ...GROUP,
      kind: 'Workspace',
      metadata: { name: workspace, labels },
      spec: { tenantId: tool.tenantId, displayName: 'By GitOps' },
    };
    const inside = (name: string) => ({ name, namespace, labels });
    const objects = (): readonly Manifest[] => {
      const { endpoint, bucket, accessKeyId, secretAccessKey } = platform.credentials.objectStore;
      return [
        {
          ...GROUP,
          kind: 'Listener',
          metadata: inside('default'),
          spec: { computeId: `of-${workspace}` },
        },
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: inside('store-keys'),
          data: {
            access_key_id: Buffer.from(accessKeyId).toString('base64'),
            secret_access_key: Buffer.from(secretAccessKey).toString('base64'),
          },
        },
        {
          ...GROUP,
          kind: 'BulkExportDestination',
          metadata: inside('store'),
          spec: {
            displayName: 'Store',
            config: { bucketName: bucket, prefix: workspace, endpointUrl: endpoint },
            credentialsSecretRef: { name: 'store-keys' },
          },
        },
        {
          ...GROUP,
          kind: 'AgentDeployment',
          metadata: inside('agent'),
          spec: {
            source: 'internal_image',
            sourceRevisionConfig: { imageUri: 'sample-agent' },
            sourceConfig: { resourceSpec: { minScale: 1 } },
          },
        },
        {
          ...GROUP,
          kind: 'BulkExport',
          metadata: inside('hourly'),
          spec: {
            destinationRef: { name: 'store' },
            tracingProject: { name: 'agent' },
            startTime: '2026-01-01T00:00:00Z',
            intervalHours: 1,
            suspend: true,
          },
        },
      ];
    };
    const input = (manifests: readonly Manifest[]): { input: string } => ({
      input: manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n'),
    });
    const serverSide = ['--server-side', '--force-conflicts', `--field-manager=${manager}`, '-f', '-'];
    const apply = (manifests: readonly Manifest[]) => kubectl.run(['apply', ...serverSide], input(manifests));
    /** 0 where an apply would change nothing, 1 where it would. */
    const diff = (manifests: readonly Manifest[]) => kubectl.try(['diff', ...serverSide], input(manifests));
    const get = async ({ kind, metadata }: Manifest): Promise<Live> => {
      const args = ['-n', namespace, 'get', kind, metadata.name, '-o', 'json', '--show-managed-fields'];
      return JSON.parse(await kubectl.run(args)) as Live;
    };
    /** Both health checks agree that it is as it should be. */
    const healthy = (manifest: Manifest) =>
      waitFor(
        async () => {
          const live = await get(manifest);
          const states = [argo.of(live.kind, live), flux.of(live.kind, live)].join(' ');
          if (states === 'Healthy Current' || states === 'Suspended Current') return true;
          throw new Error(`${states} of ${JSON.stringify(live.status)}`);
        },
        { what: `health of ${manifest.kind} ${manifest.metadata.name}` },
      );

    beforeAll(async () => {
      await argo.open();
      kubectl = new Kubectl(binary ?? '', platform.credentials.kubeconfig);
      await apply([TENANT]);
      await healthy(TENANT);
      await apply(objects());
      for (const manifest of objects()) if (manifest.kind !== 'Secret') await healthy(manifest);
    });

    afterAll(() => argo.close());

    itOften('stays the same when it is applied again after the controllers have written', async () => {
      const all = [TENANT, ...objects()];
      const answer = await diff(all);
      expect([answer.code, answer.stdout, answer.stderr]).toEqual([0, '', '']);
      const before = await Promise.all(all.map(get));
      await apply(all);
      const after = await Promise.all(all.map(get));
      const kept = ({ kind, metadata }: Live) => ({
        kind,
        generation: metadata.generation,
        owned: metadata.managedFields?.find((entry) => entry.manager === manager),
      });
      expect(after.map(kept)).toEqual(before.map(kept));
    });

    itOften('belongs to its field manager, and no other manager owns a field of the spec', async () => {
      for (const manifest of [TENANT, ...objects()]) {
        const { metadata } = await get(manifest);
        const { apiVersion: _, kind, metadata: __, ...rest } = manifest;
        const own = metadata.managedFields?.filter((entry) => entry.manager === manager);
        expect([kind, own?.map(({ operation, fieldsV1 }) => [operation, fieldsV1])]).toEqual([
          kind,
          [['Apply', { 'f:metadata': { 'f:labels': fieldsOf(labels) }, ...fieldsOf(rest) }]],
        ]);
        const others = metadata.managedFields?.filter((entry) => entry.manager !== manager) ?? [];
        for (const { manager: other, fieldsV1 } of others)
          expect([kind, other, Object.keys(fieldsV1)]).toEqual([
            kind,
            other,
            expect.not.arrayContaining(['f:spec']),
          ]);
      }
    });

    itOften('shares its labels with no object that the platform makes', async () => {
      const [selector = ''] = Object.keys(labels);
      const kinds = 'all,agentplane,secrets,configmaps,jobs';
      const found = await kubectl.run(['-n', namespace, 'get', kinds, '-l', selector, '-o', 'name']);
      const names = found
        .trim()
        .split('\n')
        .filter((name) => !name.startsWith('workspace.'));
      expect([...new Set(names)]).toHaveLength(objects().length);
    });

    itOften('differs after a change by another manager, until it is applied again', async () => {
      const agent = objects().filter(({ kind }) => kind === 'AgentDeployment');
      const patch = '{"spec":{"sourceConfig":{"resourceSpec":{"minScale":2}}}}';
      await kubectl.run(['-n', namespace, 'patch', 'adep', 'agent', '--type=merge', '-p', patch]);
      const drift = await diff(agent);
      expect([drift.code, drift.stdout]).toEqual([
        1,
        expect.stringMatching(/-\s+minScale: 2\n\+\s+minScale: 1/),
      ]);
      await apply(agent);
      // a status that is written between the two reads of a comparison counts as a difference
      await waitFor(async () => (await diff(agent)).code === 0, { what: 'no difference' });
      for (const manifest of agent) await healthy(manifest);
    });

    itOften('disappears completely when the tool prunes by labels', async () => {
      const selector = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
      for (const kind of tool.pruned) {
        const where = kind === 'workspace' ? [] : ['-n', namespace];
        const how = ['--wait=false', `--cascade=${tool.cascade}`, '-l', selector.join(',')];
        await kubectl.run([...where, 'delete', kind, ...how]);
      }
      await waitFor(
        async () => {
          const left = await kubectl.run(['get', 'agentplane', '-A', '-l', selector.join(','), '-o', 'name']);
          const there = await kubectl.run([
            'get',
            'namespace',
            namespace,
            '--ignore-not-found',
            '-o',
            'name',
          ]);
          return left.trim() === '' && there.trim() === '';
        },
        { what: 'an empty cluster' },
      );
      const rest = await kubectl.run([
        'get',
        'all,agentplane,secrets',
        '-A',
        '-o',
        'jsonpath={..metadata.namespace}',
      ]);
      expect(rest.split(' ')).not.toContain(namespace);
    });
  });
});
