import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { testApi } from '../../libs/embedded-kube/src/testdata/test-api.js';
import { isJsonObject, listAt, recordAt } from '#lib/json';
import { builtinKinds, compileSchema } from '#lib/kube-semantics';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import {
  type AgentDeployment,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  NAMESPACES,
  RESOURCES,
} from '#lib/resources';
import { hasRealKubernetes, temporaryFolder, testApiServer, waitFor } from '#lib/testing';
import { leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';
import { CHANGES, MANIFESTS } from './testdata/refused-deployments.js';

const NAMESPACE = 'rules';
const DEFINITION: unknown = parse(
  readFileSync(join(repository, 'crds/agentplane.dev_agentdeployments.yaml'), 'utf8'),
);
if (!hasRealKubernetes) leaveOut('a real API server');

type SchemaNode = ReturnType<typeof compileSchema>['root'];

/** The messages of all rules in a schema. */
function messagesIn(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(messagesIn);
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === 'x-kubernetes-validations' && Array.isArray(value)
      ? value.map((rule: unknown) => (isJsonObject(rule) ? String(rule['message']) : ''))
      : messagesIn(value),
  );
}

/** What each server answers, by the name of a row. */
const answers = { embedded: new Map<string, string>(), real: new Map<string, string>() };

const HOMES = [
  { home: 'embedded', isThere: true },
  { home: 'real', isThere: hasRealKubernetes },
] as const;

describe('the table of refused deployments', () => {
  it('gives each rule a row', () => {
    const rows = [...MANIFESTS, ...CHANGES].map(({ message }) => message);
    expect([...new Set(messagesIn(DEFINITION))].filter((message) => !rows.includes(message))).toEqual([]);
  });
});

/** Paths of all fields below a schema, with their types; parts of a union count as text. */
function fieldsOf(node: SchemaNode | undefined, path: string): readonly string[] {
  if (node === undefined) return [];
  if (node.items) return fieldsOf(node.items, `${path}[]`);
  if (node.propertyNames.length === 0) return [`${path}: ${node.type || 'string'}`];
  return node.propertyNames.flatMap((name) => fieldsOf(node.property(name), `${path}.${name}`));
}

describe("the definition of a pod's parts", () => {
  const pod = builtinKinds.find(({ kind }) => kind === 'Pod')?.schema.root.property('spec');
  const [version] = listAt(DEFINITION, 'spec', 'versions');
  const spec = compileSchema(recordAt(version, 'schema', 'openAPIV3Schema')).root.property('spec');
  const resources = spec?.property('sourceConfig')?.property('resourceSpec');

  it.each(['tolerations', 'affinity', 'topologySpreadConstraints'])(
    'has the fields of Kubernetes in %s',
    (name) => {
      const known = fieldsOf(pod?.property(name), name);
      expect(known.length).toBeGreaterThan(0);
      expect(fieldsOf(resources?.property(name), name).toSorted()).toEqual(known.toSorted());
    },
  );

  it.each([
    ...['configMap', 'secret', 'emptyDir', 'persistentVolumeClaim'].map((name) => ['volumes', name]),
    ...['nfs', 'projected', 'downwardAPI', 'csi'].map((name) => ['volumes', name]),
    ...['env', 'envFrom', 'securityContext', 'volumeMounts'].flatMap((name) => [
      ['initContainers', name],
      ['sidecars', name],
    ]),
  ])('has the fields of Kubernetes in %s.%s', (list, name) => {
    const ours = resources?.property(list)?.items?.property(name);
    const theirs = pod?.property(list === 'sidecars' ? 'containers' : list)?.items?.property(name);
    const known = fieldsOf(theirs, name).filter((path) => !path.includes('recursiveReadOnly'));
    expect(known.length).toBeGreaterThan(0);
    expect(fieldsOf(ours, name).toSorted()).toEqual(known.toSorted());
  });
});

describe.each(HOMES.filter(({ isThere }) => isThere))('the $home API server', ({ home }) => {
  const folder = temporaryFolder();
  const real = home === 'real' ? testApiServer() : undefined;
  const embedded = home === 'embedded' ? testApi() : undefined;
  let client: KubeClient;

  beforeAll(async () => {
    const kubeconfigPath = real?.kubeconfigPath ?? join(folder, 'kubeconfig');
    if (embedded) writeFileSync(kubeconfigPath, await embedded.server.adminKubeconfig());
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'tester' });
    await client.apply(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION as CustomResourceDefinition);
    await waitFor(() => client.list(RESOURCES.AgentDeployment).then(() => true));
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
  });
  afterAll(() => client?.close());

  const draft = (name: string, spec: object) =>
    ({ metadata: { namespace: NAMESPACE, name }, spec }) as Pick<AgentDeployment, 'metadata' | 'spec'>;
  const outcome = (asked: Promise<unknown>): Promise<string> =>
    asked.then(
      () => 'accepted',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );

  it.each(MANIFESTS)('refuses $what', async ({ what, name = 'a', spec, accepted, message }) => {
    const made = (of: object) =>
      outcome(client.create(RESOURCES.AgentDeployment, draft(name, of), { dryRun: true, isStrict: true }));
    const answer = await made(spec);
    expect(answer).toContain(message);
    answers[home].set(what, answer);
    if (accepted) expect(await made(accepted)).toBe('accepted');
  });

  it.each(CHANGES)('refuses to change $what', async ({ what, before, after, message }) => {
    const name = `changed-${CHANGES.findIndex((one) => one.what === what)}`;
    await client.create(RESOURCES.AgentDeployment, draft(name, before));
    const key = { namespace: NAMESPACE, name };
    const answer = await outcome(
      client.merge(RESOURCES.AgentDeployment, key, { spec: after }, { dryRun: true }),
    );
    expect(answer).toContain(message);
    answers[home].set(what, answer);
    const suspended = client.merge(RESOURCES.AgentDeployment, key, { spec: { suspend: true } });
    expect(await outcome(suspended)).toBe('accepted');
  });
});

(hasRealKubernetes ? it : it.skip)('uses the same words on both servers', () => {
  expect(answers.real.size).toBe(MANIFESTS.length + CHANGES.length);
  expect(Object.fromEntries(answers.embedded)).toEqual(Object.fromEntries(answers.real));
});
