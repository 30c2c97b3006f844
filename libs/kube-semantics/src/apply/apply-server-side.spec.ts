import fc from 'fast-check';
import type { JsonObject } from '#lib/json';
import { compileSchema } from '../compiled-schema/compile-schema.js';
import { at, recordAt } from '../object/reading.js';
import { applyServerSide } from './apply-server-side.js';
import { FieldSet } from './field-set.js';
import { parseFieldsV1, renderFieldsV1 } from './managed-fields.js';
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
