import { beforeAll, describe, expect, it } from '@jest/globals';
import { textAt } from '#lib/kube-semantics';
import { testApi, type TestClient } from '../testdata/test-api.js';

const SPACE = '/api/v1/namespaces/space';
const TYPES = ['agentplane.dev/destination-credentials', 'agentplane.dev/webhook-secret'];
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

describe.each(TYPES)('a Secret of type %s', (type) => {
  const api = testApi();
  let tenant: TestClient;
  let node: TestClient;

  beforeAll(async () => {
    await api.admin.create('/api/v1/namespaces', { metadata: { name: 'space' } });
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'default' } });
    await api.admin.create(`${SPACE}/secrets`, {
      metadata: { name: 'keys' },
      type,
      data: { a: 'MQ==' },
    });
    await api.admin.create(`${SPACE}/secrets`, { metadata: { name: 'plain' }, data: { a: 'MQ==' } });
    await api.admin.create(`${RBAC}/namespaces/space/rolebindings`, {
      metadata: { name: 'tenant' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'system:aggregate-to-edit',
      },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' }],
    });
    tenant = api.client(await api.server.kubeconfigFor({ kind: 'certificate', user: 'ann', groups: [] }));
    const here = { kind: 'certificate', user: 'system:node:here', groups: ['system:nodes'] } as const;
    node = api.client(await api.server.kubeconfigFor(here));
  });

  const container = { name: 'main', image: 'x' };
  const specOf = (name: string): Readonly<Record<string, object>> => ({
    'a variable': {
      containers: [
        {
          ...container,
          env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'a', optional: true } } }],
        },
      ],
    },
    'all variables': { containers: [{ ...container, envFrom: [{ secretRef: { name } }] }] },
    'an init container': {
      containers: [container],
      initContainers: [{ ...container, name: 'init', envFrom: [{ secretRef: { name } }] }],
    },
    'a volume': { containers: [container], volumes: [{ name: 'v', secret: { secretName: name } }] },
    'a projected volume': {
      containers: [container],
      volumes: [{ name: 'v', projected: { sources: [{ secret: { name } }] } }],
    },
    'an image pull': { containers: [container], imagePullSecrets: [{ name }] },
  });

  it.each(Object.keys(specOf('')))('reaches no pod by %s', async (way) => {
    const make = (name: string) =>
      tenant.create(`${SPACE}/pods`, {
        metadata: { generateName: 'pod-' },
        spec: { nodeName: 'here', ...specOf(name)[way] },
      });
    const refused = await make('keys');
    expect(refused.code).toBe(403);
    expect(textAt(refused.body, ['message'])).toContain(
      `Secret "keys" of type ${type} cannot be used by pods`,
    );
    expect((await make('plain')).code).toBe(201);
  });

  it('keeps its type when a tenant rewrites it', async () => {
    const changed = await tenant.merge(`${SPACE}/secrets/keys`, { type: 'Opaque' });
    expect(changed.code).toBe(422);
    expect((await tenant.merge(`${SPACE}/secrets/keys`, { metadata: { labels: { a: 'b' } } })).code).toBe(
      200,
    );
  });

  it('reaches no pod that was made before it', async () => {
    const early = {
      metadata: { name: 'early' },
      spec: { nodeName: 'here', ...specOf('late')['all variables'] },
    };
    expect((await tenant.create(`${SPACE}/pods`, early)).code).toBe(201);
    await api.admin.create(`${SPACE}/secrets`, {
      metadata: { name: 'late' },
      type,
      data: { a: 'MQ==' },
    });
    expect((await node.get(`${SPACE}/secrets/late`)).code).toBe(403);
    expect((await node.get(`${SPACE}/secrets/plain`)).code).toBe(200);
  });
});

describe('a Secret of the platform for pods of its own', () => {
  const api = testApi();
  const JOBS = '/apis/batch/v1/namespaces/space/jobs';
  const make = async (path: string, object: object): Promise<string> => {
    const made = await api.admin.create(path, object);
    expect([made.code, made.code === 201 ? '' : made.text]).toEqual([201, '']);
    return textAt(made.body, ['metadata', 'uid']);
  };
  const secret = (name: string, type: string, ownerReferences: readonly object[] = []) =>
    make(`${SPACE}/secrets`, { metadata: { name, ownerReferences }, type, data: { token: 'MQ==' } });
  const reading = (name: string) => ({
    name: 'main',
    image: 'builder',
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'token', optional: true } } }],
  });

  beforeAll(async () => {
    await make('/api/v1/namespaces', { metadata: { name: 'space' } });
    for (const name of ['default', 'listener-near', 'listener-far'])
      await make(`${SPACE}/serviceaccounts`, { metadata: { name } });
    await secret('listener-near-key', 'agentplane.dev/listener-key');
  });

  it.each([
    ['the account of its listener', 'listener-near', 201],
    ['the account of another listener', 'listener-far', 403],
    ['another account', 'default', 403],
  ])('reaches a pod of %s or not: the key of a listener', async (_case, serviceAccountName, code) => {
    const pod = {
      metadata: { generateName: 'pod-' },
      spec: { serviceAccountName, containers: [reading('listener-near-key')] },
    };
    expect((await api.admin.create(`${SPACE}/pods`, pod)).code).toBe(code);
  });

  it('reaches the pod of its own build alone: the login of a build', async () => {
    const revision = {
      apiVersion: 'agentplane.dev/v1alpha1',
      kind: 'AgentRevision',
      name: 'a-00001',
      uid: 'r',
    };
    await secret('a-00001-build', 'agentplane.dev/build-login', [{ ...revision, controller: true }]);
    const template = { restartPolicy: 'Never', containers: [reading('a-00001-build')] };
    const jobOf = (name: string) =>
      make(JOBS, {
        metadata: { name, ownerReferences: [{ ...revision, controller: true }] },
        spec: { suspend: true, template: { spec: template } },
      });
    const uid = await jobOf('a-00001-build');
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'a-00001-build', uid, controller: true };
    const made = async (ownerReferences: readonly object[], spec: object = template) =>
      (await api.admin.create(`${SPACE}/pods`, { metadata: { generateName: 'pod-', ownerReferences }, spec }))
        .code;
    expect(await made([owner])).toBe(201);
    expect(await made([])).toBe(403);
    expect(await made([{ ...owner, uid: await jobOf('twin') }])).toBe(403);
    // who can make pods can say that they are the Job's
    const other = { ...reading('a-00001-build'), command: ['env'] };
    expect(await made([owner], { ...template, containers: [other] })).toBe(403);
    expect(await made([owner], { ...template, initContainers: [{ ...other, name: 'first' }] })).toBe(403);
  });

  it('reaches no node by a pod that was made before it', async () => {
    const here = { kind: 'certificate', user: 'system:node:here', groups: ['system:nodes'] } as const;
    const node = api.client(await api.server.kubeconfigFor(here));
    const early = (serviceAccountName: string) => ({
      metadata: { generateName: 'pod-' },
      spec: { nodeName: 'here', serviceAccountName, containers: [reading('listener-far-key')] },
    });
    await make(`${SPACE}/pods`, early('default'));
    await secret('listener-far-key', 'agentplane.dev/listener-key');
    expect((await node.get(`${SPACE}/secrets/listener-far-key`)).code).toBe(403);
    await make(`${SPACE}/pods`, early('listener-far'));
    expect((await node.get(`${SPACE}/secrets/listener-far-key`)).code).toBe(200);
  });
});
