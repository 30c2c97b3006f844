import { beforeAll, describe, expect, it } from '@jest/globals';
import { sendRaw } from '#lib/testing';
import { connect } from 'node:tls';
import { at, listAt, textAt } from '#lib/kube-semantics';
import { testApi, thingCrd } from '../testdata/test-api.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const THINGS = '/apis/test.agentplane.dev/v1/namespaces/default/things';
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const thing = (name: string, spec: string) =>
  `{"apiVersion":"test.agentplane.dev/v1","kind":"Thing","metadata":{"name":"${name}"},"spec":${spec}}`;

const nestedFields = (levels: number) => `${'{"f:a":'.repeat(levels)}{}${'}'.repeat(levels)}`;

/** A field of protobuf that has bytes. */
function field(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value as string);
  const length: number[] = [];
  let left = bytes.length;
  for (; left > 127; left >>>= 7) length.push((left & 127) | 128);
  const head = number * 8 + 2;
  const tag = head > 127 ? [(head & 127) | 128, head >>> 7] : [head];
  return Buffer.concat([Buffer.from([...tag, ...length, left]), bytes]);
}

/** A ConfigMap in protobuf with a manager that owns these fields, JSON. */
function mapOwning(fields: string): Buffer {
  const manager = [field(1, 'm'), field(2, 'Update'), field(3, 'v1'), field(6, 'FieldsV1')];
  const metadata = [field(2, 'm-'), field(17, Buffer.concat([...manager, field(7, field(1, fields))]))];
  const type = Buffer.concat([field(1, 'v1'), field(2, 'ConfigMap')]);
  const map = field(1, Buffer.concat(metadata));
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, map)]);
}

describe('an exhausting request', () => {
  const api = testApi();

  beforeAll(async () => {
    await api.admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', thingCrd());
    for (const name of ['one', 'two']) await api.admin.create(THINGS, thing(name, nested(3)));
  });

  it.each([
    ['JSON', 'application/json', 'POST', THINGS],
    ['YAML', 'application/yaml', 'POST', THINGS],
    ['an apply', 'application/apply-patch+yaml', 'PATCH', `${THINGS}/deep?fieldManager=m`],
    ['a merge patch', 'application/merge-patch+json', 'PATCH', `${THINGS}/one`],
  ])('fails with 400: %s that is nested too deep', async (_, type, method, path) => {
    for (const levels of [600, 10_000, 100_000]) {
      const { code } = await api.admin.call(method, path, { body: thing('deep', nested(levels)), type });
      expect(code).toBe(400);
    }
    expect((await api.admin.get(`${THINGS}/deep`)).code).toBe(404);
    expect((await api.admin.get(THINGS)).code).toBe(200);
  });

  it('fails with 400: protobuf with JSON in it that is nested too deep', async () => {
    const type = 'application/vnd.kubernetes.protobuf';
    const call = (levels: number) =>
      api.admin.call('POST', MAPS, { body: mapOwning(nestedFields(levels)), type });
    for (const levels of [600, 2_000, 10_000, 100_000]) expect((await call(levels)).code).toBe(400);
    expect((await call(100)).code).toBe(201);
  });

  it.each([
    ['JSON', 'application/json', 'POST', THINGS],
    ['YAML', 'application/yaml', 'POST', THINGS],
    ['an apply', 'application/apply-patch+yaml', 'PATCH', `${THINGS}/wide?fieldManager=m`],
    ['a merge patch', 'application/merge-patch+json', 'PATCH', `${THINGS}/one`],
  ])('fails with 413: %s of more values than an object may have', async (_, type, method, path) => {
    const list = `{"list":[${Array.from({ length: 100_002 }, () => '{}').join()}]}`;
    const { code, body } = await api.admin.call(method, path, { body: thing('wide', list), type });
    expect([code, textAt(body, ['reason'])]).toEqual([413, 'RequestEntityTooLarge']);
    expect((await api.admin.get(`${THINGS}/wide`)).code).toBe(404);
  });

  it('fails with 413: a patch after which the object has more values than it may have', async () => {
    const patch = (name: string) =>
      JSON.stringify({
        data: Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`${name}${index}`, ''])),
      });
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'growing' } };
    expect((await api.admin.create(MAPS, JSON.stringify(map))).code).toBe(201);
    const codes: number[] = [];
    for (const name of ['a', 'b'])
      codes.push(
        (
          await api.admin.call('PATCH', `${MAPS}/growing`, {
            body: patch(name),
            type: 'application/merge-patch+json',
          })
        ).code,
      );
    expect(codes).toEqual([200, 413]);
  });

  it('lets an object of many values be given a label and lose its finalizers', async () => {
    const data = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`a${index}`, '']));
    const metadata = { name: 'many', finalizers: ['test.example/a'] };
    expect((await api.admin.create(MAPS, { metadata, data })).code).toBe(201);
    const changed = await api.admin.merge(`${MAPS}/many`, { metadata: { labels: { a: 'b' } } });
    expect(changed.code).toBe(200);
    expect((await api.admin.delete(`${MAPS}/many`)).code).toBe(200);
    expect((await api.admin.merge(`${MAPS}/many`, { metadata: { finalizers: [] } })).code).toBe(200);
    expect((await api.admin.get(`${MAPS}/many`)).code).toBe(404);
  });

  it.each([
    ['a request line that is none', 'NONSENSE\r\n\r\n', 400],
    ['no Host header', 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    ['headers of 20 kB', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['an expectation', 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\nexpect: tea\r\n\r\n', 417],
  ])('fails with a Status: %s', async (_, text, code) => {
    const { hostname, port } = new URL(api.server.url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    const answer = await sendRaw(Number(port), text, socket);
    expect(answer).toMatchObject({ status: code, headers: { 'x-content-type-options': 'nosniff' } });
    expect(JSON.parse(answer.body)).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code,
    });
  });

  it('fails with 400 under strict validation: a field that comes twice, in every kind of write', async () => {
    const body = thing('doubled', '{"a":1,"a":2}');
    const writes = [
      ['application/json', 'POST', `${THINGS}?fieldValidation=Strict`],
      ['application/yaml', 'POST', `${THINGS}?fieldValidation=Strict`],
      ['application/apply-patch+yaml', 'PATCH', `${THINGS}/doubled?fieldManager=m&fieldValidation=Strict`],
      ['application/merge-patch+json', 'PATCH', `${THINGS}/one?fieldValidation=Strict`],
    ] as const;
    for (const [type, method, path] of writes)
      expect((await api.admin.call(method, path, { body, type })).body).toMatchObject({
        code: 400,
        message: expect.stringContaining('strict decoding error: duplicate field "spec.a"'),
      });
    expect((await api.admin.get(`${THINGS}/doubled`)).code).toBe(404);
  });

  it('fails with 400: a JSON patch that nests an object in itself', async () => {
    const deepen = [
      { op: 'add', path: `/spec${'/a'.repeat(3)}`, value: JSON.parse(nested(400)) as unknown },
      { op: 'copy', from: '/spec', path: `/spec${'/a'.repeat(402)}` },
    ];
    const type = 'application/json-patch+json';
    expect((await api.admin.call('PATCH', `${THINGS}/one`, { body: deepen, type })).code).toBe(400);
  });

  it('fails: a JSON patch that doubles an object again and again', async () => {
    const body = Array.from({ length: 40 }, (_, index) => ({
      op: 'copy',
      from: '/spec',
      path: `/spec/copy${index}`,
    }));
    const type = 'application/json-patch+json';
    expect((await api.admin.call('PATCH', `${THINGS}/two`, { body, type })).code).toBe(422);
  });

  it('fails: an object larger than etcd accepts; smaller ones are written meanwhile', async () => {
    const large = thing('large', JSON.stringify({ text: 'x'.repeat(2_000_000) }));
    const [refused, written] = await Promise.all([
      api.admin.create(THINGS, large),
      api.admin.create(THINGS, thing('small', '{}')),
    ]);
    expect(refused).toMatchObject({ code: 500, body: { message: 'etcdserver: request is too large' } });
    expect(written.code).toBe(201);
    const half = { spec: { text: 'x'.repeat(1_000_000) } };
    expect((await api.admin.merge(`${THINGS}/small`, half)).code).toBe(200);
    expect((await api.admin.merge(`${THINGS}/small`, { spec: { more: half.spec.text } })).code).toBe(500);
    expect((await api.admin.delete(`${THINGS}/small`)).code).toBe(200);
  });
});

describe('a name of Object.prototype', () => {
  const api = testApi();
  const data = { ['__proto__']: 'a', constructor: 'b', toString: 'c' };

  it('stores a name of Object.prototype as an ordinary key', async () => {
    const body = '{"metadata":{"name":"keys"},"data":{"__proto__":"a","constructor":"b","toString":"c"}}';
    expect(await api.admin.create(MAPS, body)).toMatchObject({ code: 201 });
    const { text } = await api.admin.get(`${MAPS}/keys`);
    expect(Object.entries(at(JSON.parse(text), 'data') as object)).toEqual(Object.entries(data));
    for (const [type, patch] of [
      ['application/merge-patch+json', '{"data":{"hasOwnProperty":"d","__proto__":"e"}}'],
      ['application/strategic-merge-patch+json', '{"data":{"hasOwnProperty":"d","__proto__":"e"}}'],
      ['application/json-patch+json', '[{"op":"add","path":"/data/__proto__","value":"e"}]'],
      [
        'application/apply-patch+yaml',
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"keys"},"data":{"__proto__":"e"}}',
      ],
    ] as const) {
      const path = `${MAPS}/keys?fieldManager=m${type.includes('apply') ? '&force=true' : ''}`;
      const patched = await api.admin.call('PATCH', path, { body: patch, type });
      expect(patched.code).toBe(200);
      expect(patched.text).toContain('"__proto__":"e"');
    }
  });

  it('does not count as a label that is set', async () => {
    const items = async (selector: string) =>
      at((await api.admin.get(`${MAPS}?labelSelector=${encodeURIComponent(selector)}`)).body, 'items');
    await api.admin.create(MAPS, { metadata: { name: 'labelled', labels: { a: 'b' } } });
    expect(await items('constructor')).toEqual([]);
    expect(await items('a=b,!constructor,toString!=x')).toHaveLength(1);
  });
});

describe('a deletion', () => {
  const api = testApi();
  const kept = `${MAPS}/kept`;

  beforeAll(async () => {
    await api.admin.create(MAPS, { metadata: { name: 'kept' } });
  });

  it.each([
    ['a grace that is no number', `${kept}?gracePeriodSeconds=soon`, undefined, 400],
    ['a grace of another type', kept, { gracePeriodSeconds: '5' }, 400],
    ['a dry run by another word', `${kept}?dryRun=Yes`, undefined, 422],
    ['a dry run by another word in its body', kept, { dryRun: ['all'] }, 422],
    ['a policy that is none', kept, { propagationPolicy: 'None' }, 422],
    ['two policies', kept, { propagationPolicy: 'Orphan', orphanDependents: true }, 422],
    ['another object as its options', kept, { apiVersion: 'v1', kind: 'ConfigMap' }, 400],
    ['another version as precondition', kept, { preconditions: { resourceVersion: '1' } }, 409],
  ])('refuses a deletion with %s', async (_, path, body, code) => {
    expect((await api.admin.delete(path, body)).code).toBe(code);
    expect((await api.admin.get(kept)).code).toBe(200);
  });
});

describe('a contradictory request', () => {
  const api = testApi();
  const options = 'ListOptions.meta.k8s.io "" is invalid: ';
  const match = 'resourceVersionMatch';

  it.each([
    [`${match}=Exact`, `${match}: Forbidden: ${match} is forbidden unless resourceVersion is provided`],
    [
      `${match}=Exact&resourceVersion=0`,
      `${match}: Forbidden: ${match} "exact" is forbidden for resourceVersion "0"`,
    ],
    [
      `${match}=Foo&resourceVersion=1`,
      `${match}: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`,
    ],
    ['sendInitialEvents=true', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
    [
      'watch=1&sendInitialEvents=true',
      `${match}: Forbidden: sendInitialEvents requires setting ${match} to NotOlderThan`,
    ],
    [
      `watch=1&resourceVersion=1&${match}=Exact`,
      `[${match}: Forbidden: ${match} is forbidden for watch unless sendInitialEvents is provided, ${match}: Unsupported value: "Exact": supported values: "NotOlderThan"]`,
    ],
  ])('%s', async (query, message) => {
    const { code, body } = await api.admin.get(`${MAPS}?${query}`);
    expect({ code, message: textAt(body, ['message']) }).toEqual({ code: 422, message: options + message });
  });

  it('fails with what is missing: an item of a list without its key', async () => {
    const labels = { a: 'b' };
    for (const [path, body, field] of [
      [MAPS, { metadata: { name: 'owned', ownerReferences: [{}] } }, 'metadata.ownerReferences.uid'],
      [
        '/apis/apps/v1/namespaces/default/deployments',
        {
          metadata: { name: 'unnamed' },
          spec: {
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: { containers: [{ image: 'x' }] } },
          },
        },
        'spec.template.spec.containers[0].name',
      ],
    ] as const) {
      const { code, body: status } = await api.admin.create(path, body);
      expect({ code, fields: listAt(status, 'details', 'causes').map((one) => at(one, 'field')) }).toEqual({
        code: 422,
        fields: expect.arrayContaining([field]),
      });
    }
    const account = { metadata: { name: 'odd' }, secrets: [{ uid: 'x' }] };
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    expect(await api.admin.create(accounts, account)).toMatchObject({
      code: 201,
      body: { secrets: [{ uid: 'x' }] },
    });
    expect((await api.admin.merge(`${accounts}/odd`, { metadata: { labels } })).code).toBe(200);
  });

  it('fails for a continue token of another list', async () => {
    for (const name of ['a', 'b']) await api.admin.create(MAPS, { metadata: { name } });
    const token = textAt((await api.admin.get(`${MAPS}?limit=1`)).body, ['metadata', 'continue']);
    const secrets = MAPS.replace('configmaps', 'secrets');
    expect((await api.admin.get(`${MAPS}?limit=1&continue=${token}`)).code).toBe(200);
    expect((await api.admin.get(`${secrets}?limit=1&continue=${token}`)).code).toBe(400);
    expect((await api.admin.get(`/api/v1/configmaps?limit=1&continue=${token}`)).code).toBe(400);
    expect((await api.admin.get(`${MAPS}?limit=1&resourceVersion=5&continue=${token}`)).code).toBe(400);
  });

  it.each([
    ['a@=b', 'a key that is none'],
    ['a>b', 'a comparison with a word'],
    ['a=b c!', 'a value that is none'],
  ])('fails for the selector %s: %s', async (selector) => {
    expect((await api.admin.get(`${MAPS}?labelSelector=${encodeURIComponent(selector)}`)).code).toBe(400);
  });

  it.each([
    ['POST', `${MAPS}?fieldManager=${'a'.repeat(129)}`, 'application/json', 422],
    ['POST', `${MAPS}?fieldManager=a%00b`, 'application/json', 422],
    ['PATCH', `${MAPS}/a?force=true`, 'application/merge-patch+json', 422],
    ['PATCH', `${MAPS}/a?fieldManager=m`, 'application/apply-patch+yaml', 400],
  ])('%s %s', async (method, path, type, code) => {
    const body = { metadata: { name: 'a' } };
    expect((await api.admin.call(method, path, { body, type })).code).toBe(code);
  });

  it('reports an unknown field in the words of Kubernetes', async () => {
    const { body } = await api.admin.create(MAPS, { metadata: { name: 'Bad_Name' } });
    expect(Object.keys(at(body, 'details', 'causes', 0) as object).sort()).toEqual([
      'field',
      'message',
      'reason',
    ]);
  });
});
