import { beforeAll, describe, expect, it } from '@jest/globals';
import { at, recordAt, textAt } from '#lib/kube-semantics';
import { testApi, type TestClient } from '../testdata/test-api.js';

const SPACE = '/api/v1/namespaces/space';
const TOKEN = `${SPACE}/serviceaccounts/here/token`;
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const RUNNING = { status: { phase: 'Running' } };

/** The attacker holds the certificate of the node `here`; the pods and Services of others are what it wants. */
describe('an attacker with the certificate of a node', () => {
  const api = testApi();
  let node: TestClient;
  let uids: Record<string, string>;

  beforeAll(async () => {
    for (const name of ['space', 'other'])
      await api.admin.create('/api/v1/namespaces', { metadata: { name } });
    for (const name of ['here', 'there']) {
      await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name } });
      await api.admin.create('/api/v1/nodes', { metadata: { name, labels: { role: 'plain' } } });
    }
    const pod = (name: string, nodeName: string) => ({
      metadata: { name, labels: { revision: '1' }, annotations: { note: 'kept' } },
      spec: { nodeName, serviceAccountName: nodeName, containers: [{ name: 'main', image: 'x' }] },
    });
    uids = {};
    for (const [name, nodeName] of [
      ['here', 'here'],
      ['second', 'here'],
      ['there', 'there'],
    ] as const) {
      const { body } = await api.admin.create(`${SPACE}/pods`, pod(name, nodeName));
      uids[name] = textAt(body, ['metadata', 'uid']);
    }
    await api.admin.create(`${SPACE}/services`, {
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    node = api.client(
      await api.server.kubeconfigFor({
        kind: 'certificate',
        user: 'system:node:here',
        groups: ['system:nodes'],
      }),
    );
  });

  const uidOf = (name: string): string => uids[name] ?? '';
  const tokenRequest = (spec: object) => ({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec,
  });
  const boundTo = (name: string, uid: string | undefined, more: object = {}) =>
    tokenRequest({
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, ...(uid ? { uid } : {}) },
      ...more,
    });

  it.each([
    ['bound to nothing', () => tokenRequest({}), 'node requested token not bound to a pod'],
    [
      'bound to a Secret',
      () => tokenRequest({ boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'x' } }),
      'node requested token not bound to a pod',
    ],
    [
      'bound without a uid',
      () => boundTo('here', undefined),
      'node requested token with a pod binding without a uid',
    ],
    [
      'bound to a pod of another node',
      () => boundTo('there', uidOf('there')),
      'node requested token bound to a pod scheduled on a different node',
    ],
    [
      'for another audience',
      () => boundTo('here', uidOf('here'), { audiences: ['https://bank.example'] }),
      'audience "https://bank.example" not found in pod spec volume',
    ],
  ])('gets no token %s', async (_, body, message) => {
    const answer = await node.create(TOKEN, body());
    expect(answer.code).toBe(403);
    expect(textAt(answer.body, ['message'])).toContain(message);
  });

  it('gets no token for another uid than the one of the pod', async () => {
    expect((await node.create(TOKEN, boundTo('here', uidOf('second')))).code).toBe(409);
  });

  it('gets no token for an account that the pod does not run as', async () => {
    const path = TOKEN.replace('/here/', '/there/');
    expect((await node.create(path, boundTo('here', uidOf('here')))).code).toBe(403);
  });

  it('gets a token for a day at most', async () => {
    const { code, body } = await node.create(
      TOKEN,
      boundTo('here', uidOf('here'), { expirationSeconds: 4_000_000_000 }),
    );
    expect(code).toBe(201);
    expect(at(body, 'spec', 'expirationSeconds')).toBe(86_400);
    const expiry = new Date(textAt(body, ['status', 'expirationTimestamp'])).getTime();
    expect(expiry).toBeLessThanOrEqual(Date.now() + 86_400_000);
    expect((await node.create(TOKEN, boundTo('here', uidOf('here'), { expirationSeconds: 599 }))).code).toBe(
      422,
    );
  });

  it('cannot use the token of a pod that is deleted', async () => {
    const { body } = await node.create(TOKEN, boundTo('second', uidOf('second')));
    const token = textAt(body, ['status', 'token']);
    const stranger = api.client(await anonymousKubeconfig());
    const withToken = () => stranger.call('GET', '/apis', { headers: { authorization: `Bearer ${token}` } });
    expect((await withToken()).code).toBe(200);
    await api.admin.delete(`${SPACE}/pods/second`, { gracePeriodSeconds: 0 });
    expect((await withToken()).code).toBe(401);
  });

  async function anonymousKubeconfig(): Promise<string> {
    const config = JSON.parse(await api.server.adminKubeconfig()) as Record<string, unknown>;
    return JSON.stringify({ ...config, users: [{ name: 'agentplane', user: { token: 'none' } }] });
  }

  it.each([
    ['labels', { labels: { revision: '2' } }, 'cannot update labels through pod status'],
    ['a label by removing it', { labels: { revision: null } }, 'cannot update labels through pod status'],
    ['annotations', { annotations: { note: 'changed' } }, 'cannot update annotations through pod status'],
    ['annotations by removing one', { annotations: { note: null } }, 'cannot update annotations'],
    ['finalizers', { finalizers: ['agentplane.dev/stuck'] }, 'cannot update finalizers through pod status'],
  ])('changes no %s of its pod by its status', async (_, metadata, message) => {
    const answer = await node.merge(`${SPACE}/pods/here/status`, { metadata, ...RUNNING });
    expect(answer.code).toBe(403);
    expect(textAt(answer.body, ['message'])).toContain(message);
  });

  it('changes neither owner, spec nor deletion of its pod by its status', async () => {
    const before = (await api.admin.get(`${SPACE}/pods/here`)).body;
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'here', uid: 'x' };
    await node.merge(`${SPACE}/pods/here/status`, {
      metadata: {
        ownerReferences: [owner],
        deletionTimestamp: '2020-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 0,
        generateName: 'other-',
      },
      spec: { nodeName: 'there', containers: [{ name: 'main', image: 'evil' }] },
      ...RUNNING,
    });
    const after = (await api.admin.get(`${SPACE}/pods/here`)).body;
    expect(recordAt(after, 'spec')).toEqual(recordAt(before, 'spec'));
    const { metadata } = after as { metadata: Record<string, unknown> };
    expect(metadata).not.toHaveProperty('ownerReferences');
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(metadata['uid']).toBe(uidOf('here'));
  });

  it('notes the real ports of its pod, with its status', async () => {
    const metadata = { annotations: { 'agentplane.dev/loopback-ports': '{"8000":41234}' } };
    expect((await node.merge(`${SPACE}/pods/here/status`, { metadata, ...RUNNING })).code).toBe(200);
  });

  it.each([
    ['creates another Node', 'POST', '/api/v1/nodes', { metadata: { name: 'more' } }],
    ['creates a Node with a generated name', 'POST', '/api/v1/nodes', { metadata: { generateName: 'here' } }],
    [
      'taints its Node',
      'PATCH',
      '/api/v1/nodes/here',
      { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
    ],
    [
      'labels its Node for isolated work',
      'PATCH',
      '/api/v1/nodes/here',
      { metadata: { labels: { 'node-restriction.kubernetes.io/trusted': 'yes' } } },
    ],
    [
      'gives its Node a role of Kubernetes by its status',
      'PATCH',
      '/api/v1/nodes/here/status',
      { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } },
    ],
    [
      'gives its Node an owner',
      'PATCH',
      '/api/v1/nodes/here',
      { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'there', uid: 'x' }] } },
    ],
    ['deletes its Node', 'DELETE', '/api/v1/nodes/here', undefined],
    ['reads another Node', 'GET', '/api/v1/nodes/there', undefined],
    ['lists Nodes', 'GET', '/api/v1/nodes', undefined],
    ['creates the Lease of another node', 'POST', LEASES, { metadata: { name: 'there' }, spec: {} }],
    ['deletes the Lease of another node', 'DELETE', `${LEASES}/there`, undefined],
    ['reads a pod of another node', 'GET', `${SPACE}/pods/there`, undefined],
    ['lists all pods', 'GET', '/api/v1/pods', undefined],
    ['lists the pods of a namespace', 'GET', `${SPACE}/pods`, undefined],
    ['lists the pods of another node', 'GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dthere', undefined],
    [
      'lists the pods that are not its own',
      'GET',
      '/api/v1/pods?fieldSelector=spec.nodeName!%3Dhere',
      undefined,
    ],
    ['watches all pods', 'GET', '/api/v1/pods?watch=true', undefined],
    [
      'creates a pod on itself',
      'POST',
      `${SPACE}/pods`,
      { metadata: { name: 'x' }, spec: { nodeName: 'here' } },
    ],
    [
      'binds a pod to itself',
      'POST',
      `${SPACE}/pods/there/binding`,
      { apiVersion: 'v1', kind: 'Binding', target: { name: 'here' } },
    ],
    ['evicts a pod of another node', 'POST', `${SPACE}/pods/there/eviction`, {}],
    ['patches a Service', 'PATCH', `${SPACE}/services/web`, { spec: { selector: { app: 'evil' } } }],
    [
      'patches the status of a Service',
      'PATCH',
      `${SPACE}/services/web/status`,
      { metadata: { labels: { a: 'b' } } },
    ],
    ['lists Endpoints', 'GET', '/api/v1/endpoints', undefined],
    ['lists Namespaces', 'GET', '/api/v1/namespaces', undefined],
    ['reads events', 'GET', '/api/v1/events', undefined],
    ['deletes events', 'DELETE', `${SPACE}/events`, undefined],
  ])('never %s', async (_, method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    expect(await node.call(method, path, { body, type })).toMatchObject({ code: 403 });
  });

  it('replaces no labels of its pod with a whole object either', async () => {
    const { body } = await api.admin.get(`${SPACE}/pods/here`);
    const pod = body as { metadata: object };
    const relabelled = { ...pod, metadata: { ...pod.metadata, labels: { revision: '2' } } };
    expect((await node.call('PUT', `${SPACE}/pods/here/status`, { body: relabelled })).code).toBe(403);
  });

  it('applies no labels to its pod either', async () => {
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { revision: '2' } }, ...RUNNING };
    const path = `${SPACE}/pods/here/status?fieldManager=evil&force=true`;
    expect((await node.call('PATCH', path, { body, type: 'application/apply-patch+yaml' })).code).toBe(403);
  });
});

describe('an attacker with the certificate of a node without a name', () => {
  const api = testApi();

  it('gets nothing of pods that have no node yet', async () => {
    await api.admin.create('/api/v1/namespaces', { metadata: { name: 'space' } });
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'default' } });
    await api.admin.create(`${SPACE}/secrets`, { metadata: { name: 'secret' } });
    await api.admin.create(`${SPACE}/pods`, {
      metadata: { name: 'unbound' },
      spec: { containers: [{ name: 'main', image: 'x', envFrom: [{ secretRef: { name: 'secret' } }] }] },
    });
    const identity = { kind: 'certificate', user: 'system:node:', groups: ['system:nodes'] } as const;
    const nameless = api.client(await api.server.kubeconfigFor(identity));
    expect((await nameless.get(`${SPACE}/secrets/secret`)).code).toBe(403);
    expect((await nameless.get(`${SPACE}/pods/unbound`)).code).toBe(403);
    expect((await nameless.merge(`${SPACE}/pods/unbound/status`, RUNNING)).code).toBe(403);
    expect((await nameless.get('/api/v1/pods?fieldSelector=spec.nodeName%3D')).code).toBe(403);
  });
});

describe('an attacker with the certificate of the Service proxy', () => {
  const api = testApi();
  let proxy: TestClient;

  beforeAll(async () => {
    await api.admin.create('/api/v1/namespaces', { metadata: { name: 'space' } });
    await api.admin.create(`${SPACE}/services`, {
      metadata: { name: 'web', labels: { kept: 'yes' } },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    const identity = { kind: 'certificate', user: 'system:kube-proxy', groups: [] } as const;
    proxy = api.client(await api.server.kubeconfigFor(identity));
  });

  it('notes the real port of a Service, with its status', async () => {
    const metadata = { annotations: { 'agentplane.dev/loopback-port': '41300' } };
    const { code, body } = await proxy.merge(`${SPACE}/services/web/status`, { metadata });
    expect(code).toBe(200);
    expect(recordAt(body, 'metadata', 'annotations')).toEqual(metadata.annotations);
  });

  it('asks for the wake of a deployment, with the status of its Service', async () => {
    const metadata = { annotations: { 'agentplane.dev/wake': '2026-01-01T00:00:00.000Z' } };
    expect((await proxy.merge(`${SPACE}/services/web/status`, { metadata })).code).toBe(200);
  });

  it('reads Services and pods', async () => {
    expect((await proxy.get('/api/v1/services')).code).toBe(200);
    expect((await proxy.get('/api/v1/pods?watch=true&timeoutSeconds=1')).code).toBe(200);
  });

  it.each([
    ['patches a Service itself', `${SPACE}/services/web`, { spec: { selector: { app: 'evil' } } }],
    ['relabels a Service', `${SPACE}/services/web/status`, { metadata: { labels: { kept: 'no' } } }],
    [
      'writes another annotation',
      `${SPACE}/services/web/status`,
      { metadata: { annotations: { 'agentplane.dev/id': 'x' } } },
    ],
    [
      'keeps a Service from being deleted',
      `${SPACE}/services/web/status`,
      { metadata: { finalizers: ['a.b/c'] } },
    ],
    [
      'writes the addresses of a Service',
      `${SPACE}/services/web/status`,
      { status: { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } } },
    ],
    ['writes a Secret', `${SPACE}/secrets/x`, { data: {} }],
    ['writes the status of a pod', `${SPACE}/pods/x/status`, RUNNING],
  ])('never %s', async (_, path, body) => {
    expect(await proxy.merge(path, body)).toMatchObject({ code: 403 });
  });

  it('reads no Secrets', async () => {
    expect((await proxy.get('/api/v1/secrets')).code).toBe(403);
    expect((await proxy.get(`${SPACE}/secrets/x`)).code).toBe(403);
  });
});
