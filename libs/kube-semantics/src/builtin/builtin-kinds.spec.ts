import fc from 'fast-check';
import { isJsonObject, type JsonObject } from '#lib/json';
import { builtinKinds } from './builtin-kinds.js';
import { fitsFormat } from '../schema/validate-value.js';
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

  test('decodes, defaults and validates any body without a crash', () => {
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

  test("appears in its group's OpenAPI document", () => {
    const document = openapiForGroup(kind.group, kind.version) ?? {};
    const text = JSON.stringify(document['paths']);
    expect(text).toContain(`"kind":"${kind.kind}"`);
  });
});

test('published schemas refer only to schemas in the same document', () => {
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

test('a group that is not built in has no document', () => {
  expect(openapiForGroup('x.test', 'v1')).toBeUndefined();
  expect(openapiForGroup('', 'constructor')).toBeUndefined();
});

test.each(['constructor', 'toString', '__proto__'])('a Secret may have the type %s', (type) => {
  const secrets = builtinKinds.find(({ kind }) => kind === 'Secret');
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', namespace: 'y' }, type };
  expect(secrets?.validate(secret)).toEqual([]);
});

test.each(['constructor', 'toString', '__proto__'])('a text fits the unknown format %s', (format) => {
  expect(fitsFormat(format, 'x')).toBe(true);
});
