import fc from 'fast-check';
import { fitsFormat } from '../schema/validate-value.js';
import { compileSchema } from './compile-schema.js';

const schema = compileSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        a: { type: 'string', default: 'x' },
        list: {
          type: 'array',
          items: { type: 'object', properties: { n: { type: 'integer', default: 1 } } },
        },
        map: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { n: { type: 'integer', default: 2 } } },
        },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
});

const any = fc.dictionary(
  fc.constantFrom('spec', 'status', 'a', 'list', 'map', 'free', 'n', 'zzz'),
  fc.jsonValue({ maxDepth: 3 }),
  { noNullPrototype: true },
);
const body = any.map((spec) => ({ apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec, ...spec }));

test('pruning a pruned object changes nothing', () => {
  fc.assert(
    fc.property(body, (object) => {
      const once = schema.prune(object).object;
      const again = schema.prune(once);
      expect(again.unknownFields).toEqual([]);
      expect(again.object).toEqual(once);
    }),
  );
});

test('defaulting twice equals defaulting once and leaves the input unchanged', () => {
  fc.assert(
    fc.property(body, (object) => {
      const before = JSON.stringify(object);
      const once = schema.applyDefaults(schema.prune(object).object);
      expect(schema.applyDefaults(once)).toEqual(once);
      expect(JSON.stringify(object)).toBe(before);
    }),
  );
});

test('validation of any JSON ends without a crash', () => {
  fc.assert(
    fc.property(body, body, (object, old) => {
      expect(Array.isArray(schema.validate(object, old))).toBe(true);
    }),
  );
});

test('an invalid value that did not change is accepted', () => {
  const picky = compileSchema({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { a: { type: 'string', maxLength: 2 }, b: { type: 'integer', maximum: 3 } },
      },
    },
  });
  const old = { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: { a: 'long', b: 1 } };
  expect(picky.validate({ ...old, spec: { a: 'long', b: 2 } }, old)).toEqual([]);
  expect(picky.validate({ ...old, spec: { a: 'long', b: 9 } }, old).map(({ field }) => field)).toEqual([
    'spec.b',
  ]);
  expect(picky.validate({ ...old, spec: { a: 'longer', b: 1 } }, old).map(({ field }) => field)).toEqual([
    'spec.a',
  ]);
});

test.each([
  ['uuid', '0b5bf2c4-9f3b-4d5c-8c1a-0123456789ab', 'x'],
  ['ipv4', '10.0.0.1', '10.0.0'],
  ['ipv6', '::1', '10.0.0.1'],
  ['cidr', '10.0.0.0/8', '10.0.0.0/99'],
  ['date', '2024-02-29', '2023-02-29'],
  ['date-time', '2024-02-29T01:02:03Z', '2024-02-29'],
  ['duration', '1h30m', 'soon'],
  ['byte', 'aGk=', '%%'],
  ['hostname', 'a.example.com', '-a-'],
  ['email', 'a@b.c', 'a'],
  ['uri', 'https://x/y', 'x y'],
  ['mac', '00:11:22:33:44:55', '00:11'],
])('format %s', (format, good, bad) => {
  expect(fitsFormat(format, good)).toBe(true);
  expect(fitsFormat(format, bad)).toBe(false);
});

test('an unknown format accepts every value', () => {
  expect(fitsFormat('int-or-string', 'x')).toBe(true);
});
