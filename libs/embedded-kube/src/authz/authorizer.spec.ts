import { parse, stringify } from 'yaml';
import { temporaryFolder } from '#lib/testing';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { at, recordAt, textAt } from '#lib/kube-semantics';
import { createApiServer } from '../create-api-server.js';
import { testApi, type TestClient } from '../testdata/test-api.js';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const SPACE = '/api/v1/namespaces/space';
const rule = (apiGroups: string[], resources: string[], verbs: string[], resourceNames?: string[]) => ({
  apiGroups,
  resources,
  verbs,
  ...(resourceNames ? { resourceNames } : {}),
});
const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
const robot = { kind: 'ServiceAccount', name: 'robot', namespace: 'space' };

describe('role-based access control', () => {
  const api = testApi();
  const otherFolder = temporaryFolder();
  let client: TestClient;

  beforeAll(async () => {
    for (const name of ['space', 'other'])
      await api.admin.create('/api/v1/namespaces', { metadata: { name } });
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'robot' } });
    await api.admin.create(`${RBAC}/namespaces/space/roles`, {
      metadata: { name: 'worker' },
      rules: [
        rule([''], ['configmaps'], ['get', 'list', 'create']),
        rule([''], ['secrets'], ['get'], ['mine']),
        rule([''], ['pods/log'], ['get']),
        rule([''], ['endpoints'], ['patch']),
        rule(['rbac.authorization.k8s.io'], ['roles', 'rolebindings'], ['create', 'update', 'patch', 'get']),
      ],
    });
    await api.admin.create(`${RBAC}/namespaces/space/rolebindings`, {
      metadata: { name: 'worker' },
      roleRef: roleRef('Role', 'worker'),
      subjects: [robot],
    });
    client = api.client(
      await api.server.kubeconfigFor({ kind: 'service-account', namespace: 'space', name: 'robot' }),
    );
  });

  it.each([
    ['allows what a rule names', 'GET', `${SPACE}/configmaps`, 200],
    ['allows nothing in another namespace', 'GET', '/api/v1/namespaces/other/configmaps', 403],
    ['allows nothing across namespaces', 'GET', '/api/v1/configmaps', 403],
    ['allows no verb that is not named', 'DELETE', `${SPACE}/configmaps/x`, 403],
    ['allows a resource name that is named', 'GET', `${SPACE}/secrets/mine`, 404],
    ['allows no other resource name', 'GET', `${SPACE}/secrets/yours`, 403],
    ['allows no list where names are named', 'GET', `${SPACE}/secrets`, 403],
    ['allows a subresource that is named', 'GET', `${SPACE}/pods/x/log`, 404],
    ['allows not the resource for its subresource', 'GET', `${SPACE}/pods/x`, 403],
    ['allows discovery to every authenticated user', 'GET', '/apis', 200],
    ['allows no other path', 'GET', '/metrics', 403],
  ])('%s', async (_, method, path, code) => {
    expect((await client.call(method, path)).code).toBe(code);
  });

  it('names user, verb and resource in a refusal', async () => {
    const { body } = await client.get('/api/v1/namespaces/other/configmaps/x');
    expect(textAt(body, ['message'])).toBe(
      'configmaps "x" is forbidden: User "system:serviceaccount:space:robot" cannot get resource "configmaps" in API group "" in the namespace "other"',
    );
  });

  it('refuses an apply that creates from a user who may only patch', async () => {
    const path = `${SPACE}/endpoints/patched?fieldManager=robot`;
    const body = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'patched' } };
    const apply = () => client.call('PATCH', path, { body, type: 'application/apply-patch+yaml' });
    const refused = await apply();
    expect(refused.code).toBe(403);
    expect(textAt(refused.body, ['message'])).toContain('cannot create resource "endpoints"');
    await api.admin.create(`${SPACE}/endpoints`, body);
    expect((await apply()).code).toBe(200);
  });

  it('refuses a role with rights that its writer does not hold', async () => {
    const greedy = { metadata: { name: 'greedy' }, rules: [rule([''], ['secrets'], ['get', 'list'])] };
    const refused = await client.create(`${RBAC}/namespaces/space/roles`, greedy);
    expect(refused.code).toBe(403);
    expect(textAt(refused.body, ['message'])).toContain(
      'is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
    );
    const modest = { metadata: { name: 'modest' }, rules: [rule([''], ['configmaps'], ['get'])] };
    expect((await client.create(`${RBAC}/namespaces/space/roles`, modest)).code).toBe(201);
    expect((await client.merge(`${RBAC}/namespaces/space/roles/modest`, { rules: greedy.rules })).code).toBe(
      403,
    );
    expect(
      (await client.merge(`${RBAC}/namespaces/space/roles/modest`, { metadata: { labels: { a: 'b' } } }))
        .code,
    ).toBe(200);
  });

  it('refuses a role whose lists multiply to more than can be compared', async () => {
    const many = Array.from({ length: 3_000 }, (_, at) => `x${at}`);
    const huge = { metadata: { name: 'huge' }, rules: [rule(many, many, many)] };
    const refused = await client.create(`${RBAC}/namespaces/space/roles`, huge);
    expect(refused.code).toBe(403);
    expect(textAt(refused.body, ['message'])).toContain('its rules name 27000000000 combinations');
  });

  it('refuses to aggregate the rights of others, and takes a label for what its writer holds', async () => {
    const selects = { clusterRoleSelectors: [{ matchLabels: { team: 'a' } }] };
    await api.admin.create(`${RBAC}/clusterroles`, {
      metadata: { name: 'author' },
      rules: [
        rule(['rbac.authorization.k8s.io'], ['clusterroles'], ['create', 'update', 'patch', 'get']),
        rule([''], ['configmaps'], ['get']),
      ],
    });
    await api.admin.create(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'author' },
      roleRef: roleRef('ClusterRole', 'author'),
      subjects: [robot],
    });
    const path = `${RBAC}/clusterroles`;
    const modest = { metadata: { name: 'part' }, rules: [rule([''], ['configmaps'], ['get'])] };
    expect((await client.create(path, { metadata: { name: 'all' }, aggregationRule: selects })).code).toBe(
      403,
    );
    expect((await client.create(path, modest)).code).toBe(201);
    expect((await client.merge(`${path}/part`, { aggregationRule: selects })).code).toBe(403);
    expect((await client.merge(`${path}/part`, { metadata: { labels: { team: 'a' } } })).code).toBe(200);
    expect((await api.admin.create(path, { metadata: { name: 'all' }, aggregationRule: selects })).code).toBe(
      201,
    );
    expect((await client.merge(`${path}/all`, { metadata: { labels: { b: 'c' } } })).code).toBe(200);
  });

  it('refuses a binding to a role with rights that its writer does not hold', async () => {
    const binding = (name: string, ref: object) => ({ metadata: { name }, roleRef: ref, subjects: [robot] });
    const path = `${RBAC}/namespaces/space/rolebindings`;
    expect((await client.create(path, binding('up', roleRef('ClusterRole', 'cluster-admin')))).code).toBe(
      403,
    );
    expect((await client.create(path, binding('none', roleRef('Role', 'missing')))).code).toBe(404);
    expect((await client.create(path, binding('same', roleRef('Role', 'modest')))).code).toBe(201);
  });

  it('grants every right to a group that is bound to cluster-admin', async () => {
    const kubeconfig = await api.server.kubeconfigFor({
      kind: 'certificate',
      user: 'ann',
      groups: ['captains'],
    });
    const ann = api.client(kubeconfig);
    expect((await ann.get('/api/v1/secrets')).code).toBe(403);
    const group = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'captains' };
    await api.admin.create(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'captains' },
      roleRef: roleRef('ClusterRole', 'cluster-admin'),
      subjects: [group],
    });
    expect((await ann.get('/api/v1/secrets')).code).toBe(200);
    expect(
      (
        await ann.call('GET', '/api/v1/namespaces/other/configmaps', {
          headers: { 'impersonate-user': 'system:serviceaccount:space:robot' },
        })
      ).code,
    ).toBe(403);
    expect(
      (
        await client.call('GET', '/api/v1/secrets', {
          headers: { 'impersonate-user': 'ann', 'impersonate-group': 'captains' },
        })
      ).code,
    ).toBe(403);
  });

  it('gives who may do everything in one namespace nothing outside it, by no path', async () => {
    const kubeconfig = await api.server.kubeconfigFor({ kind: 'certificate', user: 'owner', groups: [] });
    const owner = api.client(kubeconfig);
    await api.admin.create(`${RBAC}/namespaces/space/rolebindings`, {
      metadata: { name: 'owner' },
      roleRef: roleRef('ClusterRole', 'cluster-admin'),
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'owner' }],
    });
    expect(await owner.get(SPACE)).toMatchObject({ code: 200 });
    const review = { spec: { user: 'ann', nonResourceAttributes: { verb: 'get', path: '/metrics' } } };
    for (const [method, path, body] of [
      ['GET', `${SPACE}/namespaces`],
      ['GET', `${SPACE}/namespaces?watch=true&timeoutSeconds=1`],
      ['GET', `${SPACE}/namespaces/other`],
      ['PATCH', `${SPACE}/namespaces/other`, { metadata: { labels: { a: 'b' } } }],
      ['PATCH', `${SPACE}/namespaces/other/status`, { metadata: { labels: { a: 'b' } } }],
      ['PUT', `${SPACE}/namespaces/other/finalize`, { metadata: { name: 'other' }, spec: {} }],
      ['DELETE', `${SPACE}/namespaces/other`],
      ['GET', `${SPACE}/nodes`],
      ['POST', '/apis/authorization.k8s.io/v1/namespaces/space/subjectaccessreviews', review],
      ['POST', '/apis/authentication.k8s.io/v1/namespaces/space/tokenreviews', { spec: { token: 'x' } }],
    ] as const) {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      expect([method, path, (await owner.call(method, path, { body, type })).code]).toEqual([
        method,
        path,
        404,
      ]);
    }
    expect(await api.admin.get('/api/v1/namespaces/other')).toMatchObject({
      body: { metadata: { labels: { 'kubernetes.io/metadata.name': 'other' } }, status: { phase: 'Active' } },
    });
  });

  it('refuses the status of pods from those who may edit or administer a namespace', async () => {
    const path = `${SPACE}/pods/posing`;
    await api.admin.create(`${SPACE}/pods`, {
      metadata: { name: 'posing' },
      spec: { serviceAccountName: 'robot', containers: [{ name: 'main', image: 'x' }] },
    });
    for (const name of ['edit', 'admin']) {
      const people = api.client(
        await api.server.kubeconfigFor({ kind: 'certificate', user: `${name}or`, groups: [] }),
      );
      await api.admin.create(`${RBAC}/namespaces/space/rolebindings`, {
        metadata: { name: `of-${name}` },
        roleRef: roleRef('ClusterRole', `system:aggregate-to-${name}`),
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `${name}or` }],
      });
      expect((await people.merge(path, { metadata: { labels: { a: name } } })).code).toBe(200);
      // a pod that has ended has no ports, by which a namespace's share of them is counted
      const ended = { status: { phase: 'Succeeded' } };
      expect((await people.merge(`${path}/status`, ended)).code).toBe(403);
      expect(at((await api.admin.get(path)).body, 'status', 'phase')).toBe('Pending');
    }
  });

  it('refuses certificates of another authority', async () => {
    const other = createApiServer({ ...api.options, port: api.server.port, pkiFolder: otherFolder });
    const mine: unknown = parse(await api.server.adminKubeconfig());
    const theirs: unknown = parse(await other.adminKubeconfig());
    const mixed = { ...recordAt(mine), users: at(theirs, 'users') };
    expect(await api.client(stringify(mixed)).get('/api/v1/pods')).toMatchObject({ code: 401 });
    const nobody = { ...recordAt(mine), users: [{ name: 'agentplane', user: { token: 'nonsense' } }] };
    expect(await api.client(stringify(nobody)).get('/api/v1/pods')).toMatchObject({ code: 401 });
  });

  it('treats a field selector for one name as that name', async () => {
    await api.admin.create(`${RBAC}/namespaces/space/roles`, {
      metadata: { name: 'one-secret' },
      rules: [rule([''], ['secrets'], ['list', 'watch', 'deletecollection'], ['mine'])],
    });
    await api.admin.create(`${RBAC}/namespaces/space/rolebindings`, {
      metadata: { name: 'one-secret' },
      roleRef: roleRef('Role', 'one-secret'),
      subjects: [robot],
    });
    const codeOf = async (selector: string, method = 'GET') =>
      (await client.call(method, `${SPACE}/secrets?fieldSelector=${encodeURIComponent(selector)}`)).code;
    expect(await codeOf('metadata.name=mine')).toBe(200);
    expect(await codeOf('type=Opaque,metadata.name==mine')).toBe(200);
    expect(await codeOf('metadata.name=mine', 'DELETE')).toBe(200);
    expect(await codeOf('metadata.name=yours')).toBe(403);
    expect(await codeOf('metadata.name!=mine')).toBe(403);
    expect(await codeOf('type!=a\\,metadata.name=mine')).toBe(403);
  });
});

describe('rights of a node', () => {
  const api = testApi();
  let node: TestClient;
  const pod = (name: string, nodeName: string, secret: string) => ({
    metadata: { name },
    spec: {
      nodeName,
      serviceAccountName: name,
      imagePullSecrets: [{ name: `${secret}-pull` }],
      volumes: [
        { name: 'a', secret: { secretName: `${secret}-volume` } },
        { name: 'b', projected: { sources: [{ secret: { name: `${secret}-projected` } }] } },
      ],
      initContainers: [{ name: 'init', image: 'x', envFrom: [{ secretRef: { name: `${secret}-init` } }] }],
      containers: [
        {
          name: 'main',
          image: 'x',
          envFrom: [{ configMapRef: { name: secret } }],
          env: [{ name: 'A', valueFrom: { secretKeyRef: { name: secret, key: 'a' } } }],
        },
      ],
    },
  });

  beforeAll(async () => {
    await api.admin.create('/api/v1/namespaces', { metadata: { name: 'space' } });
    for (const name of ['here', 'there'])
      await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name } });
    for (const end of ['', '-pull', '-volume', '-projected', '-init'])
      await api.admin.create(`${SPACE}/secrets`, { metadata: { name: `mine${end}` } });
    await api.admin.create(`${SPACE}/secrets`, { metadata: { name: 'yours' } });
    await api.admin.create(`${SPACE}/configmaps`, { metadata: { name: 'mine' } });
    await api.admin.create('/api/v1/nodes', { metadata: { name: 'there' } });
    for (const name of ['here', 'there'])
      expect(
        (await api.admin.create(`${SPACE}/pods`, pod(name, name, name === 'here' ? 'mine' : 'yours'))).code,
      ).toBe(201);
    node = api.client(
      await api.server.kubeconfigFor({
        kind: 'certificate',
        user: 'system:node:here',
        groups: ['system:nodes'],
      }),
    );
  });

  const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  const lease = (name: string) => ({ metadata: { name }, spec: { holderIdentity: name } });
  const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const ready = { status: { phase: 'Running' } };

  it.each([
    ['makes its Node', 'POST', '/api/v1/nodes', { metadata: { name: 'here' } }, 201],
    ['writes its status', 'PATCH', '/api/v1/nodes/here/status', {}, 200],
    ['writes no status of another', 'PATCH', '/api/v1/nodes/there/status', {}, 403],
    ['removes no other Node', 'DELETE', '/api/v1/nodes/there', undefined, 403],
    ['makes its Lease', 'POST', LEASES, lease('here'), 201],
    ['renews it', 'PATCH', `${LEASES}/here`, lease('here'), 200],
    ['reads no other Lease', 'GET', `${LEASES}/there`, undefined, 403],
    ['reads no Lease elsewhere', 'GET', LEASES.replace('kube-node-lease', 'default'), undefined, 403],
    ['follows its pods', 'GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dhere', undefined, 200],
    ['reads a Secret of a variable', 'GET', `${SPACE}/secrets/mine`, undefined, 200],
    ['reads a Secret of an init container', 'GET', `${SPACE}/secrets/mine-init`, undefined, 200],
    ['reads a Secret of a volume', 'GET', `${SPACE}/secrets/mine-volume`, undefined, 200],
    ['reads a projected Secret', 'GET', `${SPACE}/secrets/mine-projected`, undefined, 200],
    ['reads a Secret for images', 'GET', `${SPACE}/secrets/mine-pull`, undefined, 200],
    ['reads a ConfigMap of its pods', 'GET', `${SPACE}/configmaps/mine`, undefined, 200],
    ['reads no Secret of other pods', 'GET', `${SPACE}/secrets/yours`, undefined, 403],
    ['lists no Secrets', 'GET', `${SPACE}/secrets`, undefined, 403],
    ['lists no Secrets of all namespaces', 'GET', '/api/v1/secrets', undefined, 403],
    ['writes no Secret', 'PATCH', `${SPACE}/secrets/mine`, {}, 403],
    ['gets no other token', 'POST', `${SPACE}/serviceaccounts/there/token`, token, 403],
    ['writes the status of its pod', 'PATCH', `${SPACE}/pods/here/status`, ready, 200],
    ['writes no status of another pod', 'PATCH', `${SPACE}/pods/there/status`, ready, 403],
    ['changes no pod', 'PATCH', `${SPACE}/pods/here`, { metadata: { labels: { a: 'b' } } }, 403],
    ['ends no other pod', 'DELETE', `${SPACE}/pods/there`, undefined, 403],
    ['gets 404 for a deleted pod', 'DELETE', `${SPACE}/pods/gone`, undefined, 404],
    ['reads the namespace of its pods', 'GET', SPACE, undefined, 200],
    ['reads no namespace of others', 'GET', '/api/v1/namespaces/default', undefined, 403],
    ['lists no namespaces', 'GET', '/api/v1/namespaces', undefined, 403],
    ['makes no namespace', 'POST', '/api/v1/namespaces', { metadata: { name: 'by-node' } }, 403],
    ['hands out no roles', 'POST', `${RBAC}/clusterroles`, { metadata: { name: 'x' }, rules: [] }, 403],
  ])('%s', async (_, method, path, body, code) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    expect(await node.call(method, path, { body, type })).toMatchObject({ code });
  });

  it('gets the reason of a refusal', async () => {
    const { body } = await node.get(`${SPACE}/secrets/yours`);
    expect(textAt(body, ['message'])).toBe(
      'secrets "yours" is forbidden: User "system:node:here" cannot get resource "secrets" in API group "" in the namespace "space": no relationship found between node \'here\' and this object',
    );
  });

  it('loses access when the pod ends', async () => {
    expect((await node.delete(`${SPACE}/pods/here`, { gracePeriodSeconds: 0 })).code).toBe(200);
    expect((await node.get(`${SPACE}/secrets/mine`)).code).toBe(403);
  });
});
