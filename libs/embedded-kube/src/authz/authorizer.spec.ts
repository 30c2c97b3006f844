import { parse, stringify } from 'yaml';
import { temporaryFolder } from '#lib/testing';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { at, recordAt, textAt } from '../object/reading.js';
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
    ['allows discovery to everybody who is known', 'GET', '/apis', 200],
    ['allows no other path', 'GET', '/metrics', 403],
  ])('%s', async (_, method, path, code) => {
    expect((await client.call(method, path)).code).toBe(code);
  });

  it('says who may not do what', async () => {
    const { body } = await client.get('/api/v1/namespaces/other/configmaps/x');
    expect(textAt(body, ['message'])).toBe(
      'configmaps "x" is forbidden: User "system:serviceaccount:space:robot" cannot get resource "configmaps" in API group "" in the namespace "other"',
    );
  });

  it('lets nobody hand out rights that he does not have', async () => {
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

  it('lets nobody bind a role beyond his own rights', async () => {
    const binding = (name: string, ref: object) => ({ metadata: { name }, roleRef: ref, subjects: [robot] });
    const path = `${RBAC}/namespaces/space/rolebindings`;
    expect((await client.create(path, binding('up', roleRef('ClusterRole', 'cluster-admin')))).code).toBe(
      403,
    );
    expect((await client.create(path, binding('none', roleRef('Role', 'missing')))).code).toBe(404);
    expect((await client.create(path, binding('same', roleRef('Role', 'modest')))).code).toBe(201);
  });

  it('gives everything to a group that is bound to cluster-admin', async () => {
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

  it('does not know the certificates of another authority', async () => {
    const other = createApiServer({ ...api.options, port: api.server.port, pkiFolder: otherFolder });
    const mine: unknown = parse(await api.server.adminKubeconfig());
    const theirs: unknown = parse(await other.adminKubeconfig());
    const mixed = { ...recordAt(mine), users: at(theirs, 'users') };
    expect(await api.client(stringify(mixed)).get('/api/v1/pods')).toMatchObject({ code: 401 });
    const nobody = { ...recordAt(mine), users: [{ name: 'agentplane', user: { token: 'nonsense' } }] };
    expect(await api.client(stringify(nobody)).get('/api/v1/pods')).toMatchObject({ code: 401 });
  });

  it("lets a node do a node's work and no more", async () => {
    const node = api.client(
      await api.server.kubeconfigFor({
        kind: 'certificate',
        user: 'system:node:here',
        groups: ['system:nodes'],
      }),
    );
    expect((await node.create('/api/v1/nodes', { metadata: { name: 'here' } })).code).toBe(201);
    expect((await node.merge('/api/v1/nodes/here/status', { status: { phase: 'Running' } })).code).toBe(200);
    expect((await node.get('/api/v1/pods?fieldSelector=spec.nodeName%3Dhere')).code).toBe(200);
    expect((await node.create('/api/v1/namespaces', { metadata: { name: 'by-node' } })).code).toBe(403);
    expect((await node.delete(`${SPACE}/configmaps/x`)).code).toBe(403);
  });
});
