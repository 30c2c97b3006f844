import { describe, expect, it } from '@jest/globals';
import { at, parseAmounts, textAt } from '#lib/kube-semantics';
import { waitFor } from '#lib/testing';
import { testApi, thingCrd } from '../testdata/test-api.js';

const MAX_BYTES = 1.5 * 1024 * 1024;

describe('an object at the limit of its size', () => {
  const api = testApi();

  /** Makes an object, and fills it by a patch to the last byte. */
  async function fill(path: string, object: object, patchOf: (text: string) => object): Promise<void> {
    const finalizers = ['test.example/a', 'test.example/b'];
    await api.admin.create(path, { ...object, metadata: { name: 'full', finalizers } });
    const { text } = await api.admin.merge(`${path}/full`, patchOf('x')); // who wrote which field is a part of it
    const left = MAX_BYTES - Buffer.byteLength(text);
    const full = await api.admin.merge(`${path}/full`, patchOf('x'.repeat(left + 1)));
    expect(Buffer.byteLength(full.text)).toBe(MAX_BYTES);
  }

  it('takes the mark of its deletion, gives up its finalizers one by one and ends', async () => {
    await api.admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', thingCrd());
    const path = '/apis/test.agentplane.dev/v1/namespaces/default/things';
    const thing = { apiVersion: 'test.agentplane.dev/v1', kind: 'Thing' };
    await fill(path, thing, (text) => ({ spec: { text } }));
    expect((await api.admin.merge(`${path}/full`, { metadata: { labels: { a: 'b' } } })).code).toBe(500);
    const marked = await api.admin.delete(`${path}/full`);
    expect([marked.code, at(marked.body, 'metadata', 'deletionTimestamp')]).toEqual([
      200,
      expect.any(String),
    ]);
    for (const finalizers of [['test.example/b'], []]) {
      const patch = { body: { metadata: { finalizers } }, type: 'application/merge-patch+json' };
      expect((await api.admin.call('PATCH', `${path}/full?fieldManager=the-one`, patch)).code).toBe(200);
    }
    expect((await api.admin.get(`${path}/full`)).code).toBe(404);
  });

  it('takes the mark of its deletion and reports its end when it is a pod that runs', async () => {
    await api.admin.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    const path = '/api/v1/namespaces/default/pods';
    const env = [{ name: 'A', value: 'x'.repeat(1_400_000) }];
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i', env }] };
    await fill(path, { spec }, (text) => ({ metadata: { annotations: { text } } }));
    const marked = await api.admin.delete(`${path}/full`);
    expect([marked.code, at(marked.body, 'metadata', 'deletionGracePeriodSeconds')]).toEqual([200, 30]);
    const status = { status: { phase: 'Failed', message: 'x'.repeat(4_000) } };
    expect((await api.admin.merge(`${path}/full/status`, status)).code).toBe(200);
  });
});

describe('an object of a namespace that is full', () => {
  const api = testApi({
    quota: {
      appliesTo: (namespace) => namespace === 'full',
      objects: 10,
      kinds: {},
      letters: 40_000,
      ports: 5,
      requests: parseAmounts({}),
      advice: 'QUOTA',
    },
  });

  it('takes the mark of its deletion and gives up its finalizers', async () => {
    const path = '/api/v1/namespaces/full/configmaps';
    await api.admin.create('/api/v1/namespaces', { metadata: { name: 'full' } });
    const quota = '/api/v1/namespaces/full/resourcequotas/agentplane';
    await waitFor(async () => (await api.admin.get(quota)).code === 200);
    const finalizers = ['test.example/a', 'test.example/b'];
    const made = await api.admin.create(path, {
      metadata: { name: 'a', finalizers },
      data: { x: 'x'.repeat(38_000) },
    });
    expect(made.code).toBe(201);
    const { body } = await api.admin.get(quota);
    const left = 50_000 - Number(at(body, 'status', 'used', 'agentplane.dev/letters'));
    expect((await api.admin.merge(`${path}/a`, { data: { x: 'x'.repeat(38_000 + left - 20) } })).code).toBe(
      200,
    );
    expect((await api.admin.merge(`${path}/a`, { data: { y: 'y'.repeat(100) } })).code).toBe(403);
    const marked = await api.admin.delete(`${path}/a`);
    expect([marked.code, textAt(marked.body, ['metadata', 'name'])]).toEqual([200, 'a']);
    for (const kept of [finalizers.slice(1), []])
      expect((await api.admin.merge(`${path}/a`, { metadata: { finalizers: kept } })).code).toBe(200);
    expect((await api.admin.get(`${path}/a`)).code).toBe(404);
  });

  it('grows by no step to its end, in letters or ports', async () => {
    const core = '/api/v1/namespaces/full';
    const finalizers = Array.from({ length: 60 }, (_, index) => `test.example/a${index}`);
    const ports = [{ name: 'a', port: 80 }];
    await api.admin.create(`${core}/services`, { metadata: { name: 's', finalizers }, spec: { ports } });
    const made = await api.admin.create(`${core}/configmaps`, {
      metadata: { name: 'b', finalizers },
      data: { x: 'x'.repeat(28_000) },
    });
    expect(made.code).toBe(201);
    for (const [kind, name] of [
      ['configmaps', 'b'],
      ['services', 's'],
    ])
      expect((await api.admin.delete(`${core}/${kind}/${name}`)).code).toBe(200);

    const codes: number[] = [];
    for (let taken = 1; taken <= 50; taken++)
      codes.push(
        (
          await api.admin.merge(`${core}/configmaps/b`, {
            metadata: { finalizers: finalizers.slice(taken) },
            data: { [`more${taken}`]: 'x'.repeat(4_000) },
          })
        ).code,
      );
    expect(codes.filter((code) => code === 200).length).toBeLessThan(6); // to the quarter that updates have
    expect(codes.at(-1)).toBe(403);
    for (let index = 0; index < 40; index++)
      await api.admin.call('PATCH', `${core}/configmaps/b?fieldManager=${'m'.repeat(100)}${index}`, {
        body: { metadata: { finalizers: finalizers.slice(0, 59 - index), labels: { [`l${index}`]: 'x' } } },
        type: 'application/merge-patch+json',
      });
    expect((await api.admin.get(`${core}/configmaps/b`)).text.length).toBeLessThan(50_000);

    const many = Array.from({ length: 6 }, (_, index) => ({ name: `p${index}`, port: 80 + index }));
    const grown = {
      metadata: { finalizers: finalizers.slice(1) },
      spec: { selector: { a: 'b' }, ports: many },
    };
    expect((await api.admin.merge(`${core}/services/s`, grown)).code).toBe(403);
    for (const path of [`${core}/services/s`, `${core}/configmaps/b`]) {
      expect((await api.admin.merge(path, { metadata: { finalizers: [] } })).code).toBe(200);
      expect((await api.admin.get(path)).code).toBe(404);
    }
  });
});
