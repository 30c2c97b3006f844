import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { buildRevisionDeployment } from '#lib/manifests';
import {
  type AgentRevision,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  DEPLOYMENTS,
  NAMESPACES,
  type ResourceSpec,
  RESOURCES,
} from '#lib/resources';
import { hasRealKubernetes, testApiServer, waitFor } from '#lib/testing';
import { leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';

const NAMESPACE = 'fields';
const SETTINGS = { version: '1.2.3', apiUrl: 'http://api:8470', addresses: 'cluster-dns' } as const;
if (!hasRealKubernetes) leaveOut('a real API server');

const volume = (source: object): ResourceSpec => ({ volumes: [{ name: 'v', ...source }] });
const mounted = (mount: object): ResourceSpec => ({
  volumes: [{ name: 'v', emptyDir: {} }],
  volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }],
});
const beside = (more: object): ResourceSpec => ({
  sidecars: [{ name: 'beside', image: 'example.org/beside:1', ...more }],
});

/** The part of the pod that has to have the value, as it is written. */
type Part = 'volume' | 'mount' | 'sidecar';

const NFS = { server: 'nfs.example.org', path: '/exports/a', readOnly: true };
const CSI = {
  driver: 'csi.example.org',
  fsType: 'ext4',
  readOnly: true,
  volumeAttributes: { share: 'a' },
  nodePublishSecretRef: { name: 'mine' },
};
const FIELD = { path: 'labels', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.labels' } };
const FROM = [
  { secretRef: { name: 'mine', optional: true } },
  { prefix: 'P_', configMapRef: { name: 'settings' } },
];
const ENV = [
  { name: 'A', value: 'x' },
  { name: 'B', valueFrom: { secretKeyRef: { name: 'mine', key: 'k', optional: true } } },
  { name: 'C', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
];
const RESOURCES_OF = { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '64Mi' } };
const SECURITY = { runAsUser: 1000, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };

const ROWS: readonly { what: string; spec: ResourceSpec; part: Part; expected: object }[] = [
  { what: 'nfs', spec: volume({ nfs: NFS }), part: 'volume', expected: { nfs: NFS } },
  { what: 'csi', spec: volume({ csi: CSI }), part: 'volume', expected: { csi: CSI } },
  {
    what: 'persistentVolumeClaim',
    spec: volume({ persistentVolumeClaim: { claimName: 'files', readOnly: true } }),
    part: 'volume',
    expected: { persistentVolumeClaim: { claimName: 'files', readOnly: true } },
  },
  {
    what: 'downwardAPI',
    spec: volume({ downwardAPI: { items: [FIELD], defaultMode: 256 } }),
    part: 'volume',
    expected: { downwardAPI: { items: [FIELD], defaultMode: 256 } },
  },
  {
    what: 'emptyDir',
    spec: volume({ emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } }),
    part: 'volume',
    expected: { emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
  },
  {
    what: 'a token by a projected volume',
    spec: volume({ projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'a' } }] } }),
    part: 'volume',
    expected: { projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'a' } }] } },
  },
  ...[
    { subPath: 'a/b' },
    { subPathExpr: '$(AGENTPLANE_REVISION)' },
    { readOnly: true },
    { mountPropagation: 'HostToContainer' },
  ].map((field) => ({
    what: `${Object.keys(field).join()} of a mount`,
    spec: mounted(field),
    part: 'mount' as const,
    expected: { name: 'v', mountPath: '/v', ...field },
  })),
  ...[
    { envFrom: FROM },
    { env: ENV },
    { workingDir: '/work' },
    { command: ['run'], args: ['--all', '$(A)'] },
    { imagePullPolicy: 'Always' },
    { resources: RESOURCES_OF },
    { securityContext: SECURITY },
  ].map((fields) => ({
    what: `${Object.keys(fields).join(' and ')} of a sidecar`,
    spec: beside(fields),
    part: 'sidecar' as const,
    expected: fields,
  })),
];

interface Template {
  readonly volumes?: readonly object[];
  readonly containers: readonly { readonly name: string; readonly volumeMounts?: readonly object[] }[];
}

const PARTS: Readonly<Record<Part, (template: Template) => unknown>> = {
  volume: ({ volumes }) => volumes?.[0],
  mount: ({ containers }) => containers.find(({ name }) => name === 'agent')?.volumeMounts?.[0],
  sidecar: ({ containers }) => containers.find(({ name }) => name === 'beside'),
};

(hasRealKubernetes ? describe : describe.skip)('a resource spec on a real API server', () => {
  const server = testApiServer();
  let client: KubeClient;

  beforeAll(async () => {
    const { kubeconfigPath } = server;
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'tester' });
    const text = readFileSync(join(repository, 'crds/agentplane.dev_agentdeployments.yaml'), 'utf8');
    await client.apply(CUSTOM_RESOURCE_DEFINITIONS, parse(text) as CustomResourceDefinition);
    await waitFor(() => client.list(RESOURCES.AgentDeployment).then(() => true));
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
  });
  afterAll(() => client?.close());

  it.each(ROWS)('brings $what to the pods', async ({ spec, part, expected }) => {
    // what the definition does not know is dropped here
    const { spec: kept } = await client.create(
      RESOURCES.AgentDeployment,
      {
        metadata: { namespace: NAMESPACE, name: 'a' },
        spec: {
          source: 'external_image',
          sourceConfig: { resourceSpec: spec },
          sourceRevisionConfig: { imageUri: 'example.org/agent:1' },
        },
      } as never,
      { dryRun: true },
    );
    const revision = {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'AgentRevision',
      metadata: { name: 'a-00001', namespace: NAMESPACE, uid: 'u' },
      spec: {
        source: 'external_image',
        deploymentName: 'a',
        deploymentWireName: 'a',
        tenantId: 't',
        listenerName: 'default',
        envSecretName: 'a-00001-env',
        databaseSecretName: 'a-database',
        platformSecretName: 'a-platform',
        resourceSpec: kept.sourceConfig.resourceSpec,
      },
      status: { image: 'example.org/agent:1' },
    } as unknown as AgentRevision;
    const made = await client.create(DEPLOYMENTS, buildRevisionDeployment(revision, 1, SETTINGS), {
      dryRun: true,
    });
    expect(PARTS[part](made.spec.template.spec as Template)).toMatchObject(expected);
  });
});
