import fc from 'fast-check';
import type { JsonObject } from '#lib/json';
import { compileSchema } from '../compiled-schema/compile-schema.js';
import { at, recordAt } from '../object/reading.js';
import { applyServerSide } from './apply-server-side.js';
import { FieldSet } from './field-set.js';
import { parseFieldsV1, renderFieldsV1 } from './fields-v1.js';
import { toFieldSet } from './to-field-set.js';
import { trackUpdate, withoutNoOp } from './track-update.js';

const string = { type: 'string' };
const schema = compileSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: string,
        count: { type: 'integer' },
        plain: { type: 'array', items: string },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: string },
        keyed: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', properties: { name: string, a: string, b: string } },
        },
        map: { type: 'object', additionalProperties: string },
        atomic: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: string, b: string } },
        nested: { type: 'object', properties: { x: string, y: string } },
      },
    },
  },
});

const ruled = compileSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: string },
        keyed: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            properties: {
              name: string,
              a: { ...string, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
            },
          },
        },
      },
    },
  },
});

const apiVersion = 'x.test/v1';
const time = '2026-01-02T03:04:05Z';
const word = fc.constantFrom('a', 'b', 'c', 'd');
const optional = { requiredKeys: [] };
const spec = fc.record(
  {
    size: word,
    count: fc.nat(3),
    plain: fc.array(word, { maxLength: 3 }),
    set: fc.uniqueArray(word, { minLength: 1, maxLength: 3 }),
    keyed: fc.uniqueArray(fc.record({ name: word, a: word, b: word }, { requiredKeys: ['name'] }), {
      minLength: 1,
      maxLength: 3,
      selector: (item) => item.name,
    }),
    map: fc.dictionary(word, word, { minKeys: 1, maxKeys: 3 }),
    atomic: fc.record({ a: word, b: word }),
    nested: fc.record({ x: word, y: word }, { requiredKeys: ['x'] }),
  },
  optional,
);

function object(given: JsonObject): JsonObject {
  return { apiVersion, kind: 'Thing', metadata: { name: 'one' }, spec: given };
}

function apply(live: JsonObject | undefined, manager: string, given: JsonObject, force = true): JsonObject {
  const result = applyServerSide({ live, applied: object(given), manager, force, schema, apiVersion, time });
  if (result.kind !== 'applied') throw new Error(result.message);
  return result.object;
}

function ownersOf(value: JsonObject): readonly string[] {
  return (recordAt(value, 'metadata')['managedFields'] as readonly JsonObject[]).map(({ manager }) =>
    String(manager),
  );
}

describe('every applied configuration', () => {
  test('changes nothing when applied again, not even the owners', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = apply(apply(undefined, 'one', first), 'two', second);
        expect(withoutNoOp(live, apply(live, 'two', second))).toBe(live);
      }),
    );
  });

  test('puts every field into the object and owns it', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = apply(apply(undefined, 'one', first), 'two', second);
        const stated = toFieldSet(object(second), schema.root);
        const present = toFieldSet(live, schema.root);
        expect(stated.difference(present).isEmpty).toBe(true);
        const entries = at(live, 'metadata', 'managedFields') as readonly JsonObject[];
        const own = parseFieldsV1(entries.find(({ manager }) => manager === 'two')?.['fieldsV1'] ?? {});
        const unowned = [...stated.difference(own ?? FieldSet.EMPTY).paths()].map((path) => path.join());
        expect(unowned.filter((path) => path.startsWith('f:spec,'))).toEqual([]);
      }),
    );
  });

  test('replaces the former configuration of a sole manager exactly', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = apply(apply(undefined, 'one', first), 'one', second);
        expect(withoutEmpty(live['spec'])).toEqual(withoutEmpty(second));
      }),
    );
  });

  test('leaves the fields of another manager in place when everything is withdrawn', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = apply(apply(apply(undefined, 'one', first), 'two', second), 'one', {});
        const kept = toFieldSet(object(second), schema.root);
        expect(kept.difference(toFieldSet(live, schema.root)).isEmpty).toBe(true);
      }),
    );
  });

  test('conflicts or keeps all owners when applied without force', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const live = apply(undefined, 'one', first);
        const request = {
          live,
          applied: object(second),
          manager: 'two',
          force: false,
          schema,
          apiVersion,
          time,
        };
        const result = applyServerSide(request);
        if (result.kind === 'invalid') throw new Error(result.message);
        const forced = apply(live, 'two', second);
        const before = toFieldSet(object(first), schema.root);
        const entries = at(forced, 'metadata', 'managedFields') as readonly JsonObject[];
        const left = parseFieldsV1(entries.find(({ manager }) => manager === 'one')?.['fieldsV1'] ?? {});
        const lost = [...before.difference(left ?? FieldSet.EMPTY).paths()].filter(
          (path) => path.length > 1 && path[0] === 'f:spec',
        );
        expect(result.kind === 'conflict').toBe(lost.length > 0);
      }),
    );
  });

  test('owns exactly the changed fields when written by an update', () => {
    fc.assert(
      fc.property(spec, spec, (first, second) => {
        const old = apply(undefined, 'one', first);
        const next = { ...old, spec: second };
        const request = { old, next, manager: 'two', operation: 'Update', schema, apiVersion, time } as const;
        const isSame = JSON.stringify(first) === JSON.stringify(second);
        if (isSame) expect(ownersOf(trackUpdate(request))).toEqual(ownersOf(old));
        else expect(trackUpdate(request)['spec']).toEqual(second);
      }),
    );
  });
});

test('field sets survive their written form', () => {
  fc.assert(
    fc.property(spec, (given) => {
      const set = toFieldSet(object(given), schema.root);
      const read = parseFieldsV1(JSON.parse(JSON.stringify(renderFieldsV1(set))));
      expect(read?.equals(set)).toBe(true);
    }),
  );
});

test('field sets obey the algebra of sets', () => {
  fc.assert(
    fc.property(spec, spec, (first, second) => {
      const left = toFieldSet(object(first), schema.root);
      const right = toFieldSet(object(second), schema.root);
      expect(left.union(right).equals(right.union(left))).toBe(true);
      expect(left.difference(right).union(left.intersection(right)).equals(left)).toBe(true);
      expect(left.difference(right).intersection(right).isEmpty).toBe(true);
    }),
  );
});

function withoutEmpty(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? {}), (_, item: unknown) =>
    item === null ? undefined : item,
  ) as unknown;
}

test('long lists take time that grows with their length', () => {
  const names = Array.from({ length: 80_000 }, (_, index) => `n${index}`);
  const object = (set: readonly string[], keyed: readonly string[]) => ({
    ...{ apiVersion, kind: 'X', metadata: { name: 'x' } },
    spec: { set, keyed: keyed.map((name) => ({ name, a: 'x' })) },
  });
  const startedMs = performance.now();
  const request = { manager: 'm', force: false, schema: ruled, apiVersion, time };
  const made = applyServerSide({ ...request, live: undefined, applied: object(names, []) });
  const live = made.kind === 'applied' ? made.object : {};
  expect(recordAt(live, 'spec')['set']).toHaveLength(names.length);
  expect(applyServerSide({ ...request, live, applied: object(names.toReversed(), []) }).kind).toBe('applied');
  const some = names.slice(0, 20_000);
  expect(ruled.validate(object(names, some.toReversed()), object(names, some))).toEqual([]);
  // each item looked for among all others took minutes
  expect(performance.now() - startedMs).toBeLessThan(60_000);
});

test('thousands of managers, which a client may name, take time that grows with their number', () => {
  const managers = Array.from({ length: 10_000 }, (_, at) => ({
    ...{ manager: `m${at}`, apiVersion, fieldsType: 'FieldsV1' },
    fieldsV1: { 'f:spec': { 'f:map': { [`f:k${at}`]: {} } } },
  }));
  const named = (operation: string, spec: JsonObject) => ({
    ...{ apiVersion, kind: 'X', spec },
    metadata: { name: 'x', uid: 'u', managedFields: managers.map((one) => ({ ...one, operation })) },
  });
  const startedMs = performance.now();
  const [old, next] = [named('Update', { size: 'a' }), named('Update', { size: 'b' })];
  const updated = trackUpdate({ old, next, manager: 'm', operation: 'Update', schema, apiVersion, time });
  expect(recordAt(updated, 'metadata')['managedFields']).toHaveLength(10);
  const applied = { ...{ apiVersion, kind: 'X' }, metadata: { name: 'x' }, spec: { size: 'c' } };
  const request = { manager: 'm0', force: true, schema, apiVersion, time, applied };
  const made = applyServerSide({
    ...request,
    live: named('Apply', { size: 'a', map: { k0: 'x', k1: 'x' } }),
  });
  // the applier has dropped its own field
  expect(made.kind === 'applied' && made.object['spec']).toEqual({ size: 'c', map: { k1: 'x' } });
  // each put together with all before it took half a minute
  expect(performance.now() - startedMs).toBeLessThan(8_000);
});
