import { beforeAll, describe, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import { at, textAt } from '#lib/kube-semantics';
import type { NodeLogRequest } from '../api-server-options.js';
import { testApi } from '../testdata/test-api.js';

const SPACE = '/api/v1/namespaces/default';
const pod = (name: string, extra: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'img' }], ...extra },
});
const binding = (node: string) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: {},
  target: { kind: 'Node', name: node },
});

/** Refusal of a node that wants to fill the memory. */
function endless(): Readable {
  return new Readable({
    read() {
      this.push('no '.repeat(1_000));
    },
  });
}

describe('a subresource', () => {
  const asked: NodeLogRequest[] = [];
  const api = testApi({
    nodeLogDialer: (request) => {
      asked.push(request);
      if (request.path.includes('/endless/')) return Promise.resolve({ status: 404, body: endless() });
      const isThere = !request.path.includes('/broken/');
      return Promise.resolve({
        status: isThere ? 200 : 404,
        body: Readable.from([isThere ? 'line 1\nline 2\n' : 'no such container']),
      });
    },
  });

  beforeAll(async () => {
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'default' } });
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'robot' } });
    await api.admin.create('/api/v1/nodes', { metadata: { name: 'here' } });
    await api.admin.merge('/api/v1/nodes/here/status', {
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.9' }],
        daemonEndpoints: { kubeletEndpoint: { Port: 4321 } },
      },
    });
    for (const name of ['one', 'broken', 'endless']) await api.admin.create(`${SPACE}/pods`, pod(name));
  });

  it('binds a pod to a node once', async () => {
    expect((await api.admin.create(`${SPACE}/pods/one/binding`, binding('here'))).code).toBe(201);
    const { body } = await api.admin.get(`${SPACE}/pods/one`);
    expect(at(body, 'spec', 'nodeName')).toBe('here');
    expect(at(body, 'status', 'conditions', 0)).toMatchObject({ type: 'PodScheduled', status: 'True' });
    expect(await api.admin.create(`${SPACE}/pods/one/binding`, binding('there'))).toMatchObject({
      code: 409,
    });
    expect(
      (await api.admin.create(`${SPACE}/bindings`, { ...binding('here'), metadata: { name: 'broken' } }))
        .code,
    ).toBe(201);
  });

  it('proxies a log from the node of the pod', async () => {
    const { code, text, headers } = await api.admin.get(
      `${SPACE}/pods/one/log?tailLines=5&follow=true&pretty=true`,
    );
    expect({ code, text, type: headers['content-type'] }).toEqual({
      code: 200,
      text: 'line 1\nline 2\n',
      type: 'text/plain',
    });
    expect(asked.at(-1)).toMatchObject({
      nodeName: 'here',
      address: '127.0.0.9',
      port: 4321,
      path: '/containerLogs/default/one/main?follow=true&tailLines=5',
    });
  });

  it('names the problem of a malformed log request', async () => {
    expect(await api.admin.get(`${SPACE}/pods/one/log?container=other`)).toMatchObject({
      code: 400,
      body: { message: 'container other is not valid for pod one' },
    });
    expect((await api.admin.get(`${SPACE}/pods/absent/log`)).code).toBe(404);
    expect(await api.admin.get(`${SPACE}/pods/broken/log`)).toMatchObject({
      code: 404,
      body: { message: 'no such container' },
    });
  });

  it('reads the beginning alone of what a node refuses with', async () => {
    await api.admin.create(`${SPACE}/pods/endless/binding`, binding('here'));
    const { code, body } = await api.admin.get(`${SPACE}/pods/endless/log`);
    expect([code, textAt(body, ['message']).length]).toEqual([404, 4 * 1024]);
  });

  it('gives a running pod its grace on deletion and eviction, and let its node end it', async () => {
    const deleted = await api.admin.delete(`${SPACE}/pods/one`);
    expect(deleted.body).toMatchObject({ kind: 'Pod', metadata: { deletionGracePeriodSeconds: 30 } });
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'one' },
      deleteOptions: { gracePeriodSeconds: 5 },
    };
    expect((await api.admin.create(`${SPACE}/pods/one/eviction`, eviction)).code).toBe(201);
    expect(
      at((await api.admin.get(`${SPACE}/pods/one`)).body, 'metadata', 'deletionGracePeriodSeconds'),
    ).toBe(5);
    expect((await api.admin.delete(`${SPACE}/pods/one`, { gracePeriodSeconds: 0 })).body).toMatchObject({
      kind: 'Status',
      status: 'Success',
    });
    expect((await api.admin.get(`${SPACE}/pods/one`)).code).toBe(404);
  });

  it('deletes a pod without a node at once', async () => {
    await api.admin.create(`${SPACE}/pods`, pod('unbound'));
    expect((await api.admin.delete(`${SPACE}/pods/unbound`)).body).toMatchObject({ kind: 'Status' });
  });

  it('evicts no pod and issues no token in a dry run', async () => {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'tried' } };
    await api.admin.create(`${SPACE}/pods`, pod('tried'));
    expect((await api.admin.create(`${SPACE}/pods/tried/eviction?dryRun=All`, eviction)).code).toBe(201);
    const inBody = { ...eviction, deleteOptions: { dryRun: ['All'] } };
    expect((await api.admin.create(`${SPACE}/pods/tried/eviction`, inBody)).code).toBe(201);
    expect((await api.admin.create(`${SPACE}/pods/tried/eviction?dryRun=Some`, eviction)).code).toBe(422);
    expect((await api.admin.create(`${SPACE}/pods/tried/binding?dryRun=Some`, binding('here'))).code).toBe(
      422,
    );
    expect((await api.admin.get(`${SPACE}/pods/tried`)).code).toBe(200);
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const { code } = await api.admin.create(`${SPACE}/serviceaccounts/robot/token?dryRun=All`, request);
    expect(code).toBe(400);
  });

  it('answers a local review about its own namespace alone', async () => {
    const review = (namespace: string) => ({
      spec: { user: 'ann', resourceAttributes: { namespace, verb: 'get', resource: 'pods' } },
    });
    const path = '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews';
    expect((await api.admin.create(path, review('default'))).code).toBe(201);
    for (const other of ['', 'other']) expect((await api.admin.create(path, review(other))).code).toBe(400);
    const { code } = await api.admin.create(path, {
      spec: { user: 'ann', nonResourceAttributes: { verb: 'get', path: '/' } },
    });
    expect(code).toBe(400);
  });

  it('binds a token to the life of a pod', async () => {
    await api.admin.create(`${SPACE}/pods`, pod('bound', { serviceAccountName: 'robot' }));
    const uid = textAt((await api.admin.get(`${SPACE}/pods/bound`)).body, ['metadata', 'uid']);
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'bound', uid } },
    };
    const { code, body } = await api.admin.create(`${SPACE}/serviceaccounts/robot/token`, request);
    expect(code).toBe(201);
    const token = textAt(body, ['status', 'token']);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const reviewed = async () =>
      (await api.admin.create('/apis/authentication.k8s.io/v1/tokenreviews', review)).body;
    expect(await reviewed()).toMatchObject({
      status: {
        authenticated: true,
        user: {
          username: 'system:serviceaccount:default:robot',
          groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
          extra: {
            'authentication.kubernetes.io/pod-name': ['bound'],
            'authentication.kubernetes.io/pod-uid': [uid],
          },
        },
      },
    });
    await api.admin.delete(`${SPACE}/pods/bound`);
    expect(await reviewed()).toMatchObject({ status: { authenticated: false } });
  });

  it.each([
    ['too short a life', { expirationSeconds: 10 }, 422],
    ['a pod that does not exist', { boundObjectRef: { kind: 'Pod', name: 'absent' } }, 404],
    ['a pod of another account', { boundObjectRef: { kind: 'Pod', name: 'broken' } }, 403],
    ['another uid of the pod', { boundObjectRef: { kind: 'Pod', name: 'broken', uid: 'x' } }, 409],
    ['another kind of object', { boundObjectRef: { kind: 'ConfigMap', name: 'x' } }, 400],
  ])('refuses a token for %s', async (_, spec, code) => {
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
    expect((await api.admin.create(`${SPACE}/serviceaccounts/robot/token`, request)).code).toBe(code);
  });

  it('refuses a token after its account was recreated under the same name', async () => {
    const client = api.client(
      await api.server.kubeconfigFor({ kind: 'service-account', namespace: 'default', name: 'robot' }),
    );
    expect((await client.get('/api')).code).toBe(200);
    await api.admin.delete(`${SPACE}/serviceaccounts/robot`);
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'robot' } });
    expect(await client.get('/api')).toMatchObject({ code: 401, body: { reason: 'Unauthorized' } });
  });

  it('refuses a pod whose service account does not exist', async () => {
    const answer = await api.admin.create(`${SPACE}/pods`, pod('x', { serviceAccountName: 'missing' }));
    expect(answer).toMatchObject({ code: 403 });
    expect(textAt(answer.body, ['message'])).toBe(
      'pods "x" is forbidden: error looking up service account default/missing: serviceaccount "missing" not found',
    );
  });

  it('waits a moment for the default account of a new namespace before a pod is created', async () => {
    await api.admin.create('/api/v1/namespaces', { metadata: { name: 'fresh' } });
    const created = api.admin.create('/api/v1/namespaces/fresh/pods', pod('early'));
    await api.admin.create('/api/v1/namespaces/fresh/serviceaccounts', { metadata: { name: 'default' } });
    expect((await created).code).toBe(201);
  });
});
