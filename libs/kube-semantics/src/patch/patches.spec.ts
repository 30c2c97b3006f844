import fc from 'fast-check';
import { jsonPatch } from './json-patch.js';
import { mergePatch, PatchError } from './merge-patch.js';
import { strategicMergePatch } from './strategic-merge-patch.js';

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(fc.string({ maxLength: 3 }), tie('value'), { maxKeys: 4, noNullPrototype: true }),
})).object;

describe('merge patch', () => {
  test.each([
    ['adds and replaces', { a: 1, b: 2 }, { b: 3, c: 4 }, { a: 1, b: 3, c: 4 }],
    ['null removes', { a: 1, b: { c: 2, d: 3 } }, { a: null, b: { c: null } }, { b: { d: 3 } }],
    ['lists are replaced', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['nulls inside new objects go away', {}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
    ['an object replaces a value', { a: 1 }, { a: { b: 2 } }, { a: { b: 2 } }],
  ])('%s', (_, object, patch, expected) => {
    expect(mergePatch(object, patch)).toEqual(expected);
  });

  test('applying a patch twice equals applying it once and leaves the input unchanged', () => {
    fc.assert(
      fc.property(json, json, (object, patch) => {
        const before = JSON.stringify(object);
        const once = mergePatch(object, patch);
        expect(mergePatch(once, patch)).toEqual(once);
        expect(JSON.stringify(object)).toBe(before);
      }),
    );
  });

  test('a patch that is not an object is refused', () => {
    expect(() => mergePatch({}, [1])).toThrow(PatchError);
  });
});

describe('JSON patch', () => {
  const object = { a: { b: [1, 2, 3], 'x/y': 'z' }, c: 'd' };

  test('thousands of items are moved within a long list, and not for seconds', () => {
    const list = { a: Array.from({ length: 500_000 }, () => '') };
    const moves = (count: number) =>
      Array.from({ length: count }, () => ({ op: 'move', from: '/a/1', path: '/a/499998' }));
    expect(jsonPatch(list, moves(100)).a).toHaveLength(500_000);
    expect(() => jsonPatch(list, moves(10_000))).toThrow(/more than 100000000 items would move/);
  });

  test.each([
    [
      'add into a list',
      [{ op: 'add', path: '/a/b/1', value: 9 }],
      { ...object, a: { ...object.a, b: [1, 9, 2, 3] } },
    ],
    ['append', [{ op: 'add', path: '/a/b/-', value: 9 }], { ...object, a: { ...object.a, b: [1, 2, 3, 9] } }],
    ['remove with an escaped name', [{ op: 'remove', path: '/a/x~1y' }], { ...object, a: { b: [1, 2, 3] } }],
    ['replace', [{ op: 'replace', path: '/c', value: null }], { ...object, c: null }],
    ['move', [{ op: 'move', from: '/c', path: '/e' }], { a: object.a, e: 'd' }],
    [
      'test then add',
      [
        { op: 'test', path: '/c', value: 'd' },
        { op: 'add', path: '/f', value: 1 },
      ],
      { ...object, f: 1 },
    ],
  ])('%s', (_, operations, expected) => {
    expect(jsonPatch(object, operations)).toEqual(expected);
    expect(object.a.b).toEqual([1, 2, 3]);
  });

  test.each([
    ['a failed test', [{ op: 'test', path: '/c', value: 'e' }], 422],
    ['a missing path', [{ op: 'remove', path: '/q/r' }], 422],
    ['an index outside the list', [{ op: 'replace', path: '/a/b/7', value: 1 }], 422],
    ['an unknown operation', [{ op: 'fly', path: '/a' }], 422],
    ['an object instead of a list', { op: 'add' }, 400],
  ])('%s is refused', (_, operations, status) => {
    expect(() => jsonPatch(object, operations)).toThrow(expect.objectContaining({ status }));
  });

  test('a field called __proto__ stays a field', () => {
    const patched = jsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]);
    expect(Object.keys(patched)).toEqual(['__proto__']);
    expect('polluted' in {}).toBe(false);
  });
});

describe('strategic merge patch', () => {
  test('a kind that is not built in is refused', () => {
    expect(() => strategicMergePatch({ group: 'x.test', kind: 'Thing' }, {}, {})).toThrow(
      expect.objectContaining({ status: 415 }),
    );
  });

  test('items match by their merge key, so applying a patch twice equals applying it once', () => {
    const names = fc.constantFrom('a', 'b', 'c');
    const containers = fc.uniqueArray(fc.record({ name: names, image: fc.string() }), {
      selector: (item) => item.name,
    });
    fc.assert(
      fc.property(containers, containers, (live, wanted) => {
        const pod = { apiVersion: 'v1', kind: 'Pod', spec: { containers: live } };
        const patch = { spec: { containers: wanted } };
        const once = strategicMergePatch({ group: '', kind: 'Pod' }, pod, patch);
        expect(strategicMergePatch({ group: '', kind: 'Pod' }, once, patch)).toEqual(once);
        expect(once.spec.containers.map(({ name }) => name).toSorted()).toEqual(
          [...new Set([...live, ...wanted].map(({ name }) => name))].toSorted(),
        );
      }),
    );
  });

  it('merges long lists in time that grows with their length', () => {
    const named = (letter: string) =>
      Array.from({ length: 20_000 }, (_, at) => ({ name: `${letter}${at}`, value: letter }));
    const pod = (env: unknown) => ({ spec: { containers: [{ name: 'c', env }] } });
    const order = named('b').map(({ name }) => ({ name }));
    const merged = strategicMergePatch({ group: '', kind: 'Pod' }, pod(named('a')), {
      spec: { containers: [{ name: 'c', env: named('b'), '$setElementOrder/env': order }] },
    });
    expect(merged).toEqual(pod([...named('b'), ...named('a')]));
  });
});
