import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { at, listAt, textAt } from '#lib/kube-semantics';
import { testApi } from '../testdata/test-api.js';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NEW_EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const EVENTS = '/api/v1/namespaces/default/events';

describe('the kinds that charts bring', () => {
  const api = testApi();

  it.each([
    ['ResourceQuota', '/api/v1/namespaces/default/resourcequotas', { spec: { hard: { pods: '4' } } }],
    ['LimitRange', '/api/v1/namespaces/default/limitranges', { spec: { limits: [{ type: 'Pod' }] } }],
    ['PodTemplate', '/api/v1/namespaces/default/podtemplates', template()],
    [
      'PodDisruptionBudget',
      '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
      { spec: { minAvailable: 1 } },
    ],
    [
      'NetworkPolicy',
      '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
      { spec: { podSelector: {} } },
    ],
    ['PriorityClass', '/apis/scheduling.k8s.io/v1/priorityclasses', { value: 10 }],
    ['StorageClass', '/apis/storage.k8s.io/v1/storageclasses', { provisioner: 'example.com/disk' }],
  ])('stores a %s and names it as without effect', async (kind, path, body) => {
    const made = await api.admin.create(path, { metadata: { name: 'mine' }, ...body });
    expect(made).toMatchObject({ code: 201, body: { kind } });
    expect(made.headers['warning']).toContain(`${kind} has no effect on one machine: `);
    const found = await api.admin.get(`${path}/mine`);
    expect(found).toMatchObject({ code: 200, body: { kind, ...body } });
    expect(found.headers['warning']).toBeUndefined();
  });

  it('refuses mistakes as a cluster refuses them', async () => {
    const path = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    const spec = { minAvailable: 1, maxUnavailable: 1 };
    expect(await api.admin.create(path, { metadata: { name: 'both' }, spec })).toMatchObject({ code: 422 });
    const unknown = { metadata: { name: 'typo' }, spec: { minAvailible: 1 } };
    expect(await api.admin.create(`${path}?fieldValidation=Strict`, unknown)).toMatchObject({ code: 400 });
  });

  it('shows an event of events.k8s.io under the names of core events, and the other way', async () => {
    const event = {
      metadata: { name: 'made' },
      eventTime: '2026-01-02T03:04:05.000006Z',
      reportingController: 'example.com/operator',
      reportingInstance: 'operator-0',
      action: 'Making',
      reason: 'Made',
      type: 'Normal',
      note: 'it is made',
      regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
    };
    expect(await api.admin.create(NEW_EVENTS, event)).toMatchObject({
      code: 201,
      body: { apiVersion: 'events.k8s.io/v1', ...event },
    });
    const { body } = await api.admin.get(`${EVENTS}/made`);
    expect(body).toMatchObject({
      apiVersion: 'v1',
      message: 'it is made',
      involvedObject: event.regarding,
      reportingComponent: 'example.com/operator',
    });
    expect(at(body, 'note')).toBeUndefined();
    const series = { count: 2, lastObservedTime: '2026-01-02T03:04:06.000000Z' };
    expect(await api.admin.merge(`${NEW_EVENTS}/made`, { series })).toMatchObject({
      code: 200,
      body: { note: 'it is made', series },
    });
    const { body: list } = await api.admin.get(NEW_EVENTS);
    expect(listAt(list, 'items').map((item) => textAt(item, ['note']))).toContain('it is made');
    await api.admin.delete(`${NEW_EVENTS}/made`);
    expect(await api.admin.get(`${EVENTS}/made`)).toMatchObject({ code: 404 });
  });

  it('has the Service of the API server from the start', async () => {
    expect(await api.admin.get('/api/v1/namespaces/default/services/kubernetes')).toMatchObject({
      code: 200,
      body: { spec: { ports: [{ name: 'https', port: 443 }] } },
    });
  });

  it('takes a definition in protobuf', async () => {
    const file = new URL('../../../kube-semantics/src/protobuf/testdata/definition.json', import.meta.url);
    const { body } = JSON.parse(readFileSync(file, 'utf8')) as { readonly body: string };
    const type = 'application/vnd.kubernetes.protobuf';
    const made = await api.admin.call('POST', CRDS, { body: Buffer.from(body, 'base64'), type });
    expect(made).toMatchObject({ code: 201, body: { spec: { names: { kind: 'Thing' } } } });
  });
});

function template() {
  const spec = { containers: [{ name: 'main', image: 'x' }] };
  return { template: { metadata: { labels: { a: 'b' } }, spec } };
}
