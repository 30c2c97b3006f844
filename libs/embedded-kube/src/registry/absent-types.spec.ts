import { describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { at, textAt } from '#lib/kube-semantics';
import { testApi } from '../testdata/test-api.js';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const SPACE = '/api/v1/namespaces/default';

describe('an absent kind', () => {
  const api = testApi();

  it('lists an absent kind as empty and refuses its creation', async () => {
    const path = '/apis/batch/v1/namespaces/default/cronjobs';
    const { body } = await api.admin.get(path);
    expect(body).toMatchObject({ kind: 'CronJobList', apiVersion: 'batch/v1', items: [] });
    expect((await api.admin.get(`${path}/x`)).code).toBe(404);
    const cronJob = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'x' } };
    expect(await api.admin.create(path, cronJob)).toMatchObject({
      code: 405,
      body: { message: 'CronJob is not supported by the embedded API server; use a cluster' },
    });
    const { body: found } = await api.admin.get('/apis/batch/v1');
    const resources = at(found, 'resources') as readonly { name: string; verbs: readonly string[] }[];
    expect(resources.find(({ name }) => name === 'cronjobs')?.verbs).toEqual(['get', 'list', 'watch']);
  });

  it.each(['exec', 'attach', 'portforward'])('refuses %s with the reason', async (word) => {
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'default' } });
    const containers = [{ name: 'main', image: 'x' }];
    await api.admin.create(`${SPACE}/pods`, { metadata: { name: 'unbound' }, spec: { containers } });
    const spec = { nodeName: 'here', containers };
    await api.admin.create(`${SPACE}/pods`, { metadata: { name: 'bound' }, spec });
    expect((await api.admin.call('POST', `${SPACE}/pods/absent/${word}`)).code).toBe(404);
    expect((await api.admin.call('POST', `${SPACE}/pods/unbound/${word}`)).code).toBe(400);
    const { code, body } = await api.admin.call('POST', `${SPACE}/pods/bound/${word}`);
    expect(code).toBe(405);
    expect(textAt(body, ['message'])).toContain(
      `${word} is not supported on a node that runs pods as processes`,
    );
  });

  it('refuses a definition with the name of a built-in kind', async () => {
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: 'leases.coordination.k8s.io',
        annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1' },
      },
      spec: {
        group: 'coordination.k8s.io',
        scope: 'Namespaced',
        names: { plural: 'leases', singular: 'lease', kind: 'Lease', listKind: 'LeaseList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const refused = { metadata: { name: 'bad' }, spec: { leaseDurationSeconds: -1 } };
    await api.admin.create(leases, { metadata: { name: 'kept' } });
    expect((await api.admin.create(CRDS, crd)).code).toBe(201);
    expect((await api.admin.create(leases, refused)).code).toBe(422);
    await api.admin.delete(`${CRDS}/leases.coordination.k8s.io`);
    await waitFor(async () => {
      expect((await api.admin.get(`${leases}/kept`)).code).toBe(200);
      return (await api.admin.get(`${CRDS}/leases.coordination.k8s.io`)).code === 404;
    });
    expect((await api.admin.create(leases, { metadata: { name: 'more' } })).code).toBe(201);
  });
});
