import { describe, expect, it, jest } from '@jest/globals';
import { at, listAt, numberAt } from '#lib/kube-semantics';
import { FairTurns } from '../http/fair-turns.js';
import { testApi } from '../testdata/test-api.js';

const SPACE = '/api/v1/namespaces/default';

describe('the deletion of a pod', () => {
  const api = testApi();

  it('works with any grace that its spec names', async () => {
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'default' } });
    const containers = [{ name: 'main', image: 'image' }];
    const made = await api.admin.create(`${SPACE}/pods`, {
      metadata: { name: 'patient' },
      spec: { containers, nodeName: 'node', terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER },
    });
    expect(made.code).toBe(201);
    const { code, body } = await api.admin.delete(`${SPACE}/pods/patient`);
    expect(code).toBe(200);
    expect(numberAt(body, ['metadata', 'deletionGracePeriodSeconds'], 0)).toBe(2 ** 31 - 1);
    expect(at(body, 'metadata', 'deletionTimestamp')).toBeDefined();
  });
});

describe('the deletion of a collection', () => {
  const api = testApi();

  it('gives others their turns, in a dry run too', async () => {
    const maps = `${SPACE}/configmaps`;
    await api.admin.create('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'ann' },
      subjects: [{ kind: 'User', name: 'ann', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
    });
    await Promise.all(
      Array.from({ length: 120 }, (_, at) => api.admin.create(maps, { metadata: { name: `m${at}` } })),
    );
    const config = await api.server.kubeconfigFor({ kind: 'certificate', user: 'ann', groups: [] });
    const ann = api.client(config);
    const turns = jest.spyOn(FairTurns.prototype, 'take');
    const { code, body } = await ann.delete(`${maps}?dryRun=All`);
    expect([code, listAt(body, 'items').length]).toEqual([200, 120]);
    expect(turns.mock.calls.length).toBeGreaterThan(4);
    turns.mockRestore();
  });
});
