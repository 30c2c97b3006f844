import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentDeployment, AgentRevision, ResourceSpec } from '#lib/resources';
import { parse } from 'yaml';
import { type DatabaseChoice, type FieldSurroundings, ignoredFields, ignoredText } from './ignored-fields.js';
import {
  buildDatabaseSecret,
  buildDeploymentService,
  buildPlatformSecret,
  buildQueueDeployment,
  buildRevisionDeployment,
  buildRevisionEnvSecret,
  buildRevisionOutput,
  buildServerClaim,
  buildServerStatefulSet,
  queueRange,
  wantedConnections,
  wantedReplicas,
  wantsDatabaseServer,
} from './index.js';

const ROOT = join(import.meta.dirname, '../../..');
const SETTINGS = { version: '1.2.3', apiUrl: 'http://api:8470', addresses: 'cluster-dns' } as const;

/** Names of the fields of a resource spec, from the definition of the kind. */
function fieldNames(): readonly string[] {
  const text = readFileSync(join(ROOT, 'crds/agentplane.dev_agentrevisions.yaml'), 'utf8');
  const path = 'spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.resourceSpec.properties';
  const found = path
    .split('.')
    .reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], parse(text));
  return Object.keys(found as object);
}

function objectsOf(resourceSpec: ResourceSpec): unknown {
  const metadata = { name: 'a-00001', namespace: 'ws-x', uid: 'u' };
  const revision = {
    metadata,
    spec: { deploymentName: 'a', deploymentWireName: 'a', tenantId: 't', listenerName: 'l', resourceSpec },
  } as AgentRevision;
  const deployment = { metadata, spec: { sourceConfig: { resourceSpec } } } as AgentDeployment;
  const server = { image: 'postgres', userId: 70 };
  const queue = queueRange(revision);
  const settled = { mark: undefined, connections: undefined };
  return [
    buildRevisionDeployment(revision, wantedReplicas(revision), SETTINGS),
    queue && [queue, buildQueueDeployment(revision, queue.min, SETTINGS)],
    buildDeploymentService(revision, 'a-00001'),
    buildPlatformSecret(deployment, 'k'),
    buildDatabaseSecret(deployment, 'u', settled),
    ...(wantsDatabaseServer(deployment)
      ? [buildServerClaim(deployment, undefined), buildServerStatefulSet(deployment, server, SETTINGS)]
      : []),
    buildRevisionEnvSecret(deployment, 'a-00001', {}),
    buildRevisionOutput(revision, []),
    resourceSpec.dbMaxConnections ?? wantedConnections(resourceSpec),
  ];
}

/** A value of each field that asks for something, and the fields beside it. */
const SAMPLES: Readonly<Record<string, readonly [unknown, ResourceSpec?]>> = {
  labels: [{ team: 'x' }],
  annotations: [{ note: 'y' }],
  serviceAccountName: ['mine'],
  imagePullSecrets: [[{ name: 'registry' }]],
  nodeSelector: [{ pool: 'agents' }],
  tolerations: [[{ key: 'agents', operator: 'Exists' }]],
  affinity: [{ nodeAffinity: {} }],
  topologySpreadConstraints: [[{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }]],
  priorityClassName: ['high'],
  runtimeClassName: ['gvisor'],
  volumes: [[{ name: 'v', emptyDir: {} }]],
  volumeMounts: [[{ name: 'v', mountPath: '/v' }]],
  initContainers: [[{ name: 'i', image: 'x' }]],
  sidecars: [[{ name: 's', image: 'x' }]],
  maxScale: [4, { queueCpu: 1 }],
};

const SECRETS_OF_REGISTRY: ResourceSpec = { imagePullSecrets: [{ name: 'registry' }] };
const OWN: FieldSurroundings = { databases: 'own', runsProcesses: false };
const ignoredIn = (resourceSpec: ResourceSpec): string =>
  ignoredText(ignoredFields({ source: 'external_image', sourceConfig: { resourceSpec } }, OWN));

describe('ignoredFields', () => {
  it.each(fieldNames())('names %s, or it changes what is built', (field) => {
    const [value, beside = {}] = SAMPLES[field] ?? [4];
    const spec: ResourceSpec = { ...beside, [field]: value };
    const isBuilt = JSON.stringify(objectsOf(spec)) !== JSON.stringify(objectsOf(beside));
    expect([field, ignoredIn(spec) === '']).toEqual([field, isBuilt]);
  });

  it.each<[string, ResourceSpec, string]>([
    [
      'a fewest of no pods beside a queue that has some',
      { minScale: 0, queueMinScale: 1 },
      'minScale has no effect: 0 is taken as 1',
    ],
    [
      'a queue of no pods',
      { queueMinScale: 0, queueMaxScale: 0 },
      'queueMaxScale, queueMinScale have no effect',
    ],
    [
      'a most below the fewest',
      { minScale: 3, maxScale: 2 },
      'maxScale has no effect: the fewest pods (minScale) are more',
    ],
    ['labels of the platform', { labels: { 'agentplane.dev/revision': 'x' } }, 'labels has no effect: those'],
  ])('names %s', (_what, spec, text) => {
    expect(ignoredIn(spec)).toContain(text);
  });

  it.each<[string, ResourceSpec]>([
    ['as many pods as there are anyway', { minScale: 2, maxScale: 2 }],
    ['one pod at most', { maxScale: 1 }],
    ['more pods than the fewest', { minScale: 1, maxScale: 3 }],
    ['a most of each Deployment', { maxScale: 3, queueMaxScale: 2 }],
    ['a fewest of no pods', { minScale: 0 }],
    ['a fewest of no pods, in the queue too', { minScale: 0, queueMinScale: 0 }],
    ['an empty spec', {}],
  ])('names nothing of %s', (_what, spec) => {
    expect(ignoredIn(spec)).toBe('');
  });

  it.each<[Exclude<DatabaseChoice, 'own'>, RegExp]>([
    ['shared', /lies on a Postgres server that the platform shares or was given$/],
    ['began-shared', /since the deployment was created, and is not moved; .* a new deployment$/],
    ['other-cluster', /since the pods run in another cluster/],
  ])('names the size of a database, and not its connections, where the server is %s', (choice, because) => {
    const resourceSpec = { dbCpu: 1, dbStorageGi: 5, dbMaxConnections: 9 };
    const text = ignoredText(
      ignoredFields(
        { source: 'external_image', sourceConfig: { resourceSpec } },
        { ...OWN, databases: choice },
      ),
    );
    expect(text).toMatch(/^dbCpu, dbStorageGi have no effect: the database/);
    expect(text).toMatch(because);
  });

  it('names Secrets of registries where agents are processes', () => {
    const asked = { source: 'internal_image', sourceConfig: { resourceSpec: SECRETS_OF_REGISTRY } } as const;
    expect(ignoredText(ignoredFields(asked, { ...OWN, runsProcesses: true }))).toBe(
      'imagePullSecrets has no effect: agents of one machine are processes, and no image is pulled',
    );
    expect(ignoredFields(asked, OWN)).toEqual([]);
  });

  it('names where pods should run where agents are processes', () => {
    const resourceSpec = { nodeSelector: { pool: 'agents' }, runtimeClassName: 'gvisor' };
    const asked = { source: 'internal_image', sourceConfig: { resourceSpec } } as const;
    expect(ignoredText(ignoredFields(asked, { ...OWN, runsProcesses: true }))).toBe(
      'nodeSelector, runtimeClassName have no effect: agents of one machine are processes of its one node',
    );
    expect(ignoredFields(asked, OWN)).toEqual([]);
  });

  it('names commands that an image has no use for', () => {
    const sourceConfig = { installCommand: 'npm ci', buildCommand: 'npm run build' };
    const text = ignoredText(ignoredFields({ source: 'internal_image', sourceConfig }, OWN));
    expect(text).toBe('installCommand, buildCommand have no effect: an image is installed and built already');
    expect(ignoredFields({ source: 'git_host', sourceConfig }, OWN)).toEqual([]);
  });

  it('leaves labels that no API server takes to the Deployment, which is refused with the reason', () => {
    const objects = JSON.stringify(objectsOf({ labels: { team: 'not a label', ok: 'v' } }));
    expect(objects.match(/not a label/g)).toHaveLength(4);
    expect(objects.match(/"ok":"v"/g)).toHaveLength(7);
  });
});

describe('docs/design/resource-spec.md', () => {
  it('has a row of each field', () => {
    const page = readFileSync(join(ROOT, 'docs/design/resource-spec.md'), 'utf8');
    const snake = (name: string): string => name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`);
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    expect(fieldNames().filter((name) => !rows.some((row) => row.includes(`\`${snake(name)}\``)))).toEqual(
      [],
    );
  });
});
