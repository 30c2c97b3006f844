import { describe, expect, it } from '@jest/globals';
import { at, listAt, textAt } from '#lib/kube-semantics';
import { waitFor } from '#lib/testing';
import { testApi, thingCrd } from '../testdata/test-api.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const THINGS = '/apis/test.agentplane.dev/v1/namespaces/default/things';
const thing = (name: string, extra: object = {}) => ({
  apiVersion: 'test.agentplane.dev/v1',
  kind: 'Thing',
  metadata: { name, ...extra },
  spec: { a: 1 },
});

describe('the REST API', () => {
  const api = testApi();

  it('lets one of many writers of the same version win and answer 409 to the others', async () => {
    const { body } = await api.admin.create(MAPS, { metadata: { name: 'raced' } });
    const version = textAt(body, ['metadata', 'resourceVersion']);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        api.admin.call('PUT', `${MAPS}/raced`, {
          body: { metadata: { name: 'raced', resourceVersion: version }, data: { winner: String(index) } },
        }),
      ),
    );
    expect(answers.filter(({ code }) => code === 200)).toHaveLength(1);
    expect(
      answers.filter(({ code, body: status }) => code === 409 && textAt(status, ['reason']) === 'Conflict'),
    ).toHaveLength(19);
  });

  it('loses no patch of many that come at once', async () => {
    await api.admin.create(MAPS, { metadata: { name: 'patched' } });
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        api.admin.merge(`${MAPS}/patched`, { data: { [`key-${index}`]: 'x' } }),
      ),
    );
    const { body } = await api.admin.get(`${MAPS}/patched`);
    expect(Object.keys(at(body, 'data') ?? {})).toHaveLength(50);
  });

  it('creates one of many objects of the same name', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.admin.create(MAPS, { metadata: { name: 'same' } })),
    );
    expect(answers.map(({ code }) => code).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
  });

  it('gives every object with generateName a name of its own', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.admin.create(MAPS, { metadata: { generateName: 'made-' } })),
    );
    const names = answers.map(({ body }) => textAt(body, ['metadata', 'name']));
    expect(new Set(names).size).toBe(20);
    expect(names.every((name) => /^made-[a-z0-9]{5}$/.test(name))).toBe(true);
  });

  it('shows one moment on all pages of a list while objects change', async () => {
    const label = 'labelSelector=page%3Dyes';
    for (let index = 0; index < 7; index++)
      await api.admin.create(MAPS, { metadata: { name: `page-${index}`, labels: { page: 'yes' } } });
    const first = await api.admin.get(`${MAPS}?limit=3&${label}`);
    await api.admin.delete(`${MAPS}/page-5`);
    await api.admin.create(MAPS, { metadata: { name: 'page-4a', labels: { page: 'yes' } } });
    const names: string[] = [];
    for (let page = first; ;) {
      names.push(...listAt(page.body, 'items').map((item) => textAt(item, ['metadata', 'name'])));
      const token = textAt(page.body, ['metadata', 'continue']);
      if (token === '') break;
      page = await api.admin.get(`${MAPS}?limit=3&${label}&continue=${token}`);
      expect(at(page.body, 'metadata', 'resourceVersion')).toBe(
        at(first.body, 'metadata', 'resourceVersion'),
      );
    }
    expect(names).toEqual(Array.from({ length: 7 }, (_, index) => `page-${index}`));
  });

  it('answers 410 for an expired continue token and 400 for a malformed one', async () => {
    const forgotten = Buffer.from('00000000-0000-0000-0000-000000000000@3').toString('base64url');
    expect(await api.admin.get(`${MAPS}?continue=${forgotten}`)).toMatchObject({
      code: 410,
      body: { reason: 'Expired' },
    });
    expect((await api.admin.get(`${MAPS}?continue=nonsense`)).code).toBe(400);
  });

  it('answers 504 for a list at a future resource version', async () => {
    const answer = await api.admin.get(`${MAPS}?resourceVersion=999999999`);
    expect(answer).toMatchObject({ code: 504, body: { reason: 'Timeout' } });
  });

  it('stores nothing in a dry run', async () => {
    const created = await api.admin.create(`${MAPS}?dryRun=All`, { metadata: { name: 'dry' } });
    expect(created.code).toBe(201);
    expect((await api.admin.get(`${MAPS}/dry`)).code).toBe(404);
    expect((await api.admin.create(`${MAPS}?dryRun=Some`, { metadata: { name: 'dry' } })).code).toBe(422);
  });

  it('answers metadata alone or YAML when asked to', async () => {
    const partial = await api.admin.call('GET', `${MAPS}/patched`, {
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    });
    expect(Object.keys(partial.body ?? {}).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
    const yaml = await api.admin.call('GET', `${MAPS}/patched`, { accept: 'application/yaml' });
    expect(yaml.headers['content-type']).toBe('application/yaml');
    expect(yaml.text).toContain('kind: ConfigMap');
    expect((await api.admin.call('GET', `${MAPS}/patched`, { accept: 'image/png' })).code).toBe(406);
  });

  it('reads YAML bodies and refuses other types and large bodies', async () => {
    const yaml = { body: 'metadata: {name: from-yaml}\ndata: {a: "1"}\n', type: 'application/yaml' };
    expect((await api.admin.call('POST', MAPS, yaml)).code).toBe(201);
    expect((await api.admin.call('POST', MAPS, { body: 'x', type: 'text/plain' })).code).toBe(415);
    const huge = { metadata: { name: 'huge' }, data: { a: 'x'.repeat(3 * 1024 * 1024) } };
    expect((await api.admin.create(MAPS, huge)).code).toBe(413);
    expect((await api.admin.call('POST', MAPS, { body: '{"broken' })).code).toBe(400);
  });

  it('keeps integers of 64 bits exactly, in every way that an object comes and goes', async () => {
    const counts = {
      type: 'object',
      properties: {
        big: { type: 'integer', format: 'int64', maximum: 9e18 },
        list: { type: 'array', items: { type: 'integer' } },
      },
      'x-kubernetes-validations': [
        { rule: 'self.big % 2 == 1', message: 'big must be odd' },
        { rule: '!has(oldSelf.big) || self.big >= oldSelf.big', message: 'big must not fall' },
      ],
    };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec: counts } } };
    const additionalPrinterColumns = [{ name: 'Big', type: 'integer', jsonPath: '.spec.big' }];
    const definition = JSON.stringify(thingCrd({ schema, additionalPrinterColumns }));
    await api.admin.create(CRDS, definition.replaceAll('hing', 'ally'));
    const tallies = '/apis/test.agentplane.dev/v1/namespaces/default/tallys';
    const tally = (name: string, spec: string) =>
      `{"apiVersion":"test.agentplane.dev/v1","kind":"Tally","metadata":{"name":"${name}"},"spec":${spec}}`;
    const made = await api.admin.create(
      tallies,
      tally('a', '{"big":9007199254740993,"list":[-9223372036854775808,5]}'),
    );
    expect(made.text).toContain('"spec":{"big":9007199254740993,"list":[-9223372036854775808,5]}');
    const patched = await api.admin.call('PATCH', `${tallies}/a`, {
      body: '{"spec":{"big":9007199254740995}}',
      type: 'application/merge-patch+json',
    });
    expect([patched.code, patched.text]).toEqual([200, expect.stringContaining('"big":9007199254740995')]);
    const even = await api.admin.call('PATCH', `${tallies}/a`, {
      body: '{"spec":{"big":9007199254740996}}',
      type: 'application/merge-patch+json',
    });
    expect([even.code, even.text]).toEqual([422, expect.stringContaining('big must be odd')]);
    const above = await api.admin.create(tallies, tally('above', '{"big":9000000000000000001}'));
    expect([above.code, above.text]).toEqual([
      422,
      expect.stringContaining('should be less than or equal to'),
    ]);
    const applied = await api.admin.call('PATCH', `${tallies}/b?fieldManager=m`, {
      body: 'apiVersion: test.agentplane.dev/v1\nkind: Tally\nmetadata: {name: b}\nspec: {big: 9007199254740997}\n',
      type: 'application/apply-patch+yaml',
    });
    expect([applied.code, applied.text]).toEqual([201, expect.stringContaining('"big":9007199254740997')]);
    await api.restart();
    expect((await api.admin.get(`${tallies}/a`)).text).toContain('"big":9007199254740995');
    const table = await api.admin.call('GET', tallies, {
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
    });
    expect(table.text).toContain('9007199254740995');
  });

  it('counts changes of the spec in generation, and none of status or metadata', async () => {
    await api.admin.create(CRDS, thingCrd());
    await api.admin.create(THINGS, thing('counted'));
    const generation = async () =>
      at((await api.admin.get(`${THINGS}/counted`)).body, 'metadata', 'generation');
    expect(await generation()).toBe(1);
    await api.admin.merge(`${THINGS}/counted`, { spec: { a: 2 } });
    expect(await generation()).toBe(2);
    await api.admin.merge(`${THINGS}/counted`, { metadata: { labels: { a: 'b' } } });
    await api.admin.merge(`${THINGS}/counted/status`, { status: { ready: true }, spec: { a: 9 } });
    await api.admin.merge(`${THINGS}/counted`, { status: { ready: false } });
    expect(await generation()).toBe(2);
    expect((await api.admin.get(`${THINGS}/counted`)).body).toMatchObject({
      spec: { a: 2 },
      status: { ready: true },
    });
  });

  it('keeps a deleted object until its last finalizer is removed', async () => {
    await api.admin.create(
      THINGS,
      thing('held', { finalizers: ['test.agentplane.dev/a', 'test.agentplane.dev/b'] }),
    );
    const deleted = await api.admin.delete(`${THINGS}/held`);
    expect(deleted).toMatchObject({
      code: 200,
      body: { kind: 'Thing', metadata: { generation: 2, deletionGracePeriodSeconds: 0 } },
    });
    await api.admin.merge(`${THINGS}/held`, { metadata: { finalizers: ['test.agentplane.dev/b'] } });
    expect((await api.admin.get(`${THINGS}/held`)).code).toBe(200);
    await api.admin.merge(`${THINGS}/held`, { metadata: { finalizers: null } });
    expect((await api.admin.get(`${THINGS}/held`)).code).toBe(404);
  });

  it('records the propagation policy as a finalizer for the garbage collector', async () => {
    for (const [policy, finalizer] of [
      ['Foreground', 'foregroundDeletion'],
      ['Orphan', 'orphan'],
    ]) {
      await api.admin.create(THINGS, thing('owner'));
      const { body } = await api.admin.delete(`${THINGS}/owner`, { propagationPolicy: policy });
      expect(at(body, 'metadata', 'finalizers')).toEqual([finalizer]);
      await api.admin.merge(`${THINGS}/owner`, { metadata: { finalizers: null } });
    }
    await api.admin.create(THINGS, thing('owner'));
    expect(
      (await api.admin.delete(`${THINGS}/owner`, { propagationPolicy: 'Background' })).body,
    ).toMatchObject({ kind: 'Status', status: 'Success' });
  });

  it('deletes an object only when its preconditions hold', async () => {
    await api.admin.create(THINGS, thing('meant'));
    const wrong = { preconditions: { uid: '00000000-0000-0000-0000-000000000000' } };
    expect((await api.admin.delete(`${THINGS}/meant`, wrong)).code).toBe(409);
    expect(
      (await api.admin.delete(`${THINGS}/meant`, { preconditions: { resourceVersion: '1' } })).code,
    ).toBe(409);
    expect((await api.admin.delete(`${THINGS}/meant`)).code).toBe(200);
  });

  it('deletes a collection by selector', async () => {
    expect((await api.admin.delete(`${MAPS}?labelSelector=page%3Dyes`)).code).toBe(200);
    expect(listAt((await api.admin.get(`${MAPS}?labelSelector=page%3Dyes`)).body, 'items')).toEqual([]);
    expect((await api.admin.get(`${MAPS}/patched`)).code).toBe(200);
  });

  it('removes the objects of a definition before the definition, then stops serving its kind', async () => {
    await api.admin.create(THINGS, thing('last', { finalizers: ['test.agentplane.dev/hold'] }));
    await api.admin.delete(`${CRDS}/things.test.agentplane.dev`);
    expect((await api.admin.get(`${CRDS}/things.test.agentplane.dev`)).code).toBe(200);
    await api.admin.merge(`${THINGS}/last`, { metadata: { finalizers: null } });
    await waitFor(async () => (await api.admin.get(`${CRDS}/things.test.agentplane.dev`)).code === 404);
    expect((await api.admin.get(THINGS)).code).toBe(404);
  });

  it('serves one object under every version of its definition', async () => {
    const crd = thingCrd();
    const versions = listAt(crd, 'spec', 'versions');
    const two = {
      ...crd,
      spec: {
        ...(at(crd, 'spec') as object),
        versions: [...versions, { ...(versions[0] as object), name: 'v2', storage: false }],
      },
    };
    await api.admin.create(CRDS, two);
    await api.admin.create(THINGS, thing('both'));
    const second = THINGS.replace('/v1/', '/v2/');
    expect((await api.admin.get(`${second}/both`)).body).toMatchObject({
      apiVersion: 'test.agentplane.dev/v2',
      spec: { a: 1 },
    });
    await api.admin.merge(`${second}/both`, { spec: { a: 3 } });
    expect((await api.admin.get(`${THINGS}/both`)).body).toMatchObject({
      apiVersion: 'test.agentplane.dev/v1',
      spec: { a: 3 },
    });
    expect((await api.admin.get(second)).body).toMatchObject({
      apiVersion: 'test.agentplane.dev/v2',
      items: [{ apiVersion: 'test.agentplane.dev/v2' }],
    });
  });

  it('refuses objects in a namespace that is missing or terminating', async () => {
    expect(
      await api.admin.create('/api/v1/namespaces/nowhere/configmaps', { metadata: { name: 'a' } }),
    ).toMatchObject({ code: 404 });
    await api.admin.create('/api/v1/namespaces', { metadata: { name: 'leaving' } });
    const { body } = await api.admin.delete('/api/v1/namespaces/leaving');
    expect(at(body, 'status', 'phase')).toBe('Terminating');
    const refused = await api.admin.create('/api/v1/namespaces/leaving/configmaps', {
      metadata: { name: 'a' },
    });
    expect(refused).toMatchObject({
      code: 403,
      body: { details: { causes: [{ reason: 'NamespaceTerminating' }] } },
    });
    await api.admin.merge('/api/v1/namespaces/leaving', { spec: { finalizers: [] } });
    expect((await api.admin.get('/api/v1/namespaces/leaving')).code).toBe(200);
    const finalized = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'leaving' },
      spec: { finalizers: [] },
    };
    expect(
      (await api.admin.call('PUT', '/api/v1/namespaces/leaving/finalize', { body: finalized })).code,
    ).toBe(200);
    expect((await api.admin.get('/api/v1/namespaces/leaving')).code).toBe(404);
  });
});
