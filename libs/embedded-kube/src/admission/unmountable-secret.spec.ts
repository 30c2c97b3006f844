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
