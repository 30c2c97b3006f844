import { describe, expect, it } from '@jest/globals';
import { textAt } from '#lib/kube-semantics';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const MOST = 200;

describe('the watches of one user', () => {
  const api = testApi();

  it('refuses one more with 429 and when to ask again, and none of others', async () => {
    await api.admin.create(MAPS, { metadata: { name: 'seen' } });
    for (const name of ['greedy', 'modest'])
      await api.admin.create('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
        metadata: { name },
        subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
        roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
      });
    const clientOf = async (user: string) =>
      api.client(await api.server.kubeconfigFor({ kind: 'certificate', user, groups: [] }));
    const [greedy, modest] = [await clientOf('greedy'), await clientOf('modest')];
    const watches = Array.from({ length: MOST }, () => greedy.watch(`${MAPS}?watch=true`));
    await waitFor(() => watches.every(({ events }) => events.length === 1));

    const refused = await greedy.get(`${MAPS}?watch=true`);
    expect([refused.code, refused.headers['retry-after'], textAt(refused.body, ['reason'])]).toEqual([
      429,
      '1',
      'TooManyRequests',
    ]);
    expect(textAt(refused.body, ['message'])).toBe(
      'greedy has 200 watches open, which is the most; end some, or ask again later',
    );
    expect((await greedy.get(MAPS)).code).toBe(200);
    const others = [modest, api.admin].map((client) => client.watch(`${MAPS}?watch=true`));
    await waitFor(() => others.every(({ events }) => events.length === 1));

    watches.pop()?.end();
    await waitFor(async () => (await greedy.get(`${MAPS}?watch=true&timeoutSeconds=1`)).code === 200);
    for (const watch of [...watches, ...others]) watch.end();
  });

  it('sends each of many objects once where it begins with more than one write takes', async () => {
    for (let page = 0; page < 3; page++)
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          api.admin.create(MAPS, { metadata: { name: `many-${page}-${index}` } }),
        ),
      );
    const watch = api.admin.watch(`${MAPS}?watch=true`);
    await waitFor(() => watch.events.length === 301);
    watch.end();
    expect(new Set(watch.events.map(({ object }) => textAt(object, ['metadata', 'name']))).size).toBe(301);
  });
});
