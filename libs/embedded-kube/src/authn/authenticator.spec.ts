import { beforeAll, describe, expect, it } from '@jest/globals';
import { at, textAt } from '#lib/kube-semantics';
import { systemClock } from '#lib/time';
import { testApi, type TestClient } from '../testdata/test-api.js';

const SPACE = '/api/v1/namespaces/default';
const REVIEWS = '/apis/authentication.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

describe('a token', () => {
  let aheadMs = 0;
  const api = testApi({ clock: { ...systemClock, now: () => new Date(Date.now() + aheadMs) } });

  beforeAll(async () => {
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'robot' } });
  });

  async function tokenFor(spec: object): Promise<string> {
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
    const { body } = await api.admin.create(`${SPACE}/serviceaccounts/robot/token`, request);
    return textAt(body, ['status', 'token']);
  }

  async function review(token: string, audiences?: readonly string[]): Promise<unknown> {
    const spec = { token, ...(audiences ? { audiences } : {}) };
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec };
    return at((await api.admin.create(`${REVIEWS}/tokenreviews`, request)).body, 'status');
  }

  it('stays valid until the Secret of its binding is deleted', async () => {
    await api.admin.create(`${SPACE}/secrets`, { metadata: { name: 'holder' } });
    const token = await tokenFor({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'holder' } });
    expect(await review(token)).toMatchObject({ authenticated: true });
    await api.admin.delete(`${SPACE}/secrets/holder`);
    await api.admin.create(`${SPACE}/secrets`, { metadata: { name: 'holder' } });
    expect(await review(token)).toMatchObject({ authenticated: false });
  });

  it('ends a minute after the grace of a pod that a finalizer keeps', async () => {
    await api.admin.create(`${SPACE}/pods`, {
      metadata: { name: 'kept', finalizers: ['agentplane.dev/kept'] },
      spec: { serviceAccountName: 'robot', containers: [{ name: 'main', image: 'x' }] },
    });
    const token = await tokenFor({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'kept' } });
    await api.admin.delete(`${SPACE}/pods/kept`, { gracePeriodSeconds: 0 });
    expect((await api.admin.get(`${SPACE}/pods/kept`)).code).toBe(200);
    expect(await review(token)).toMatchObject({ authenticated: true });
    aheadMs = 62_000;
    expect(await review(token)).toMatchObject({ authenticated: false });
    aheadMs = 0;
  });

  it('accepts a token for its audiences alone', async () => {
    const token = await tokenFor({ audiences: ['vault', 'other'] });
    expect(await review(token)).toMatchObject({ authenticated: false });
    expect(await review(token, ['vault', 'unknown'])).toMatchObject({
      authenticated: true,
      audiences: ['vault'],
    });
    const headers = { authorization: `Bearer ${token}` };
    const { server } = api;
    const kubeconfig = await server.kubeconfigFor({
      kind: 'service-account',
      namespace: 'default',
      name: 'robot',
    });
    expect((await api.client(kubeconfig).call('GET', '/api', { headers })).code).toBe(401);
  });

  it.each(['', 'x', 'a.b.c', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.'])(
    'refuses the token %j',
    async (token) => {
      expect(await review(token)).toMatchObject({ authenticated: false });
    },
  );
});

describe('impersonation', () => {
  const api = testApi();
  let ann: TestClient;

  beforeAll(async () => {
    const rule = (apiGroups: string[], resources: string[], resourceNames: string[]) => ({
      apiGroups,
      resources,
      resourceNames,
      verbs: ['impersonate'],
    });
    await api.admin.create(`${RBAC}/clusterroles`, {
      metadata: { name: 'acts-as-joe' },
      rules: [
        rule([''], ['users'], ['joe']),
        rule(['authentication.k8s.io'], ['uids'], ['u-1']),
        rule(['authentication.k8s.io'], ['userextras/scope'], ['read', 'write']),
      ],
    });
    await api.admin.create(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'acts-as-joe' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'acts-as-joe' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' }],
    });
    ann = api.client(await api.server.kubeconfigFor({ kind: 'certificate', user: 'ann', groups: [] }));
  });

  const whoAmI = (headers: Readonly<Record<string, string>>) =>
    ann.call('POST', `${REVIEWS}/selfsubjectreviews`, {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      headers,
    });

  it('limits impersonation to the users, uids and extras that the caller may impersonate', async () => {
    const headers = {
      'impersonate-user': 'joe',
      'impersonate-uid': 'u-1',
      'impersonate-extra-scope': 'read, write',
    };
    const { code, body } = await whoAmI(headers);
    expect(code).toBe(201);
    expect(at(body, 'status', 'userInfo')).toEqual({
      username: 'joe',
      uid: 'u-1',
      groups: ['system:authenticated'],
      extra: { scope: ['read', 'write'] },
    });
  });

  it.each([
    ['another user', { 'impersonate-user': 'admin' }, 403],
    ['a group', { 'impersonate-user': 'joe', 'impersonate-group': 'system:masters' }, 403],
    ['another uid', { 'impersonate-user': 'joe', 'impersonate-uid': 'u-2' }, 403],
    ['other extra', { 'impersonate-user': 'joe', 'impersonate-extra-scope': 'all' }, 403],
    ['one extra more', { 'impersonate-user': 'joe', 'impersonate-extra-scope': 'read, all' }, 403],
    ['extra of another name', { 'impersonate-user': 'joe', 'impersonate-extra-other': 'read' }, 403],
    ['a uid without a user', { 'impersonate-uid': 'u-1' }, 400],
    ['a group without a user', { 'impersonate-group': 'x' }, 400],
    ['extra that cannot be read', { 'impersonate-user': 'joe', 'impersonate-extra-%zz': 'x' }, 400],
  ])('refuses to impersonate %s', async (_, headers, code) => {
    expect((await whoAmI(headers as Readonly<Record<string, string>>)).code).toBe(code);
  });
});
