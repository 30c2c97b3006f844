import fc from 'fast-check';
import { isJsonObject, type JsonObject } from '#lib/json';
import { formatQuantity, parseQuantity } from '../quantity/quantity.js';
import { builtinKinds } from './builtin-kinds.js';
import { openapiForGroup } from './openapi-document.js';

describe.each(builtinKinds.map((kind) => [kind.kind, kind] as const))('%s', (_, kind) => {
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const anything = fc.dictionary(
    fc.constantFrom('spec', 'status', 'data', 'rules', 'subjects', 'ports'),
    fc.jsonValue({ maxDepth: 3 }),
    {
      noNullPrototype: true,
    },
  );

  test('any body is decoded, defaulted and judged without a crash', () => {
    fc.assert(
      fc.property(anything, (fields) => {
        const given: JsonObject = {
          apiVersion,
          kind: kind.kind,
          metadata: { name: 'x', namespace: 'y' },
          ...fields,
        };
        const { object } = kind.schema.prune(given);
        if (kind.schema.validate(object).length > 0) return;
        const once = kind.applyDefaults(object);
        expect(kind.applyDefaults(once)).toEqual(once);
        expect(Array.isArray(kind.validate(once))).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  test("is in its group's OpenAPI document", () => {
    const document = openapiForGroup(kind.group, kind.version) ?? {};
    const text = JSON.stringify(document['paths']);
    expect(text).toContain(`"kind":"${kind.kind}"`);
  });
});

test('published schemas refer only to what is published with them', () => {
  for (const [group, version] of [
    ['', 'v1'],
    ['apps', 'v1'],
    ['apiextensions.k8s.io', 'v1'],
    ['authorization.k8s.io', 'v1'],
  ] as const) {
    const document = openapiForGroup(group, version);
    const components = isJsonObject(document?.['components']) ? document['components'] : {};
    const schemas = isJsonObject(components['schemas']) ? components['schemas'] : {};
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name,
    );
    expect(references.filter((name) => name !== undefined && !(name in schemas))).toEqual([]);
    expect(JSON.stringify(document)).not.toContain('x-zero');
  }
});

test('groups that are not built in have no document', () => {
  expect(openapiForGroup('x.test', 'v1')).toBeUndefined();
});

describe('quantities', () => {
  test.each([
    ['1000m', '1'],
    ['1.5', '1500m'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['1e3', '1e3'],
    ['100000', '100k'],
    ['1234', '1234'],
    ['0', '0'],
    ['-2', '-2'],
    ['3n', '3n'],
  ])('%s is written %s', (given, expected) => {
    const quantity = parseQuantity(given);
    expect(quantity && formatQuantity(quantity)).toBe(expected);
  });

  test.each(['', 'x', '1 Gi', '1Zi', '--1', '1e'])('%j is none', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  test('the canonical text means the same', () => {
    const text = fc
      .tuple(fc.nat(1_000_000), fc.constantFrom('', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi', 'u', 'e2'))
      .map(([number, suffix]) => `${number}${suffix}`);
    fc.assert(
      fc.property(text, (given) => {
        const quantity = parseQuantity(given);
        if (quantity === undefined) throw new Error(given);
        expect(parseQuantity(formatQuantity(quantity))?.nano).toBe(quantity.nano);
      }),
    );
  });
});
