import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { scalarPairs } from './scalar-pairs.js';

const pairs = (text: string): readonly (readonly [string, string])[] =>
  scalarPairs(Buffer.from(text)).map(({ key, value }) => [key, value] as const);

/** The pairs that the reader should find, taken from the parsed value. */
function expected(value: unknown, path = ''): string[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => expected(item, path));
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([name, inner]) =>
      expected(inner, path === '' ? name : `${path}.${name}`),
    );
  return [`${path}=${String(value)}`];
}

describe('the reader of pairs', () => {
  it('leaves levels of lists out of paths, and takes each value once', () => {
    expect(
      pairs(
        ' {"a" : {"b": [1, [true, null]], "c": {}}, "messages": [{"content": "x"}, {"content":"x"}], "d":[] }',
      ),
    ).toEqual([
      ['a.b', '1'],
      ['a.b', 'true'],
      ['messages.content', 'x'],
    ]);
  });

  it('resolves escapes, and replaces text that Postgres refuses', () => {
    expect(
      pairs(String.raw`{"a\"b":"tab\tquote\"\\","n":"\u0000","s":"\ud800x","e":"\ud83d\ude00é"}`),
    ).toEqual([
      ['a"b', 'tab\tquote"\\'],
      ['n', '\uFFFD'],
      ['s', '\uFFFDx'],
      ['e', '😀é'],
    ]);
  });

  it('cuts values to 250 characters, whatever these are made of', () => {
    for (const char of ['a', 'é', '\\u00e9', '\\n', '€'])
      expect(pairs(`{"k":"${char.repeat(5000)}","z":1}`).map(([key, value]) => [key, value.length])).toEqual([
        ['k', 250],
        ['z', 1],
      ]);
    expect(pairs(`{"${'k'.repeat(251)}":{"a":1},"z":1}`)).toEqual([['z', '1']]);
  });

  it('takes a hundred pairs at most, from the beginning of a long value', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_one, n) => [`k${n}`, n]));
    expect(pairs(JSON.stringify(many))).toHaveLength(100);
    expect(pairs(JSON.stringify({ first: 'x'.repeat(70_000), then: 1 })).map(([key]) => key)).toEqual([
      'first',
    ]);
  });

  it('finds the pairs of the parsed value, and none of a value that is no object', () => {
    for (const text of ['[1]', '"x"', '1', 'null']) expect(pairs(text)).toEqual([]);
    const name = fc.string({ minLength: 1, maxLength: 5 }).filter((text) => !text.includes('\0'));
    const leaf = fc.oneof(fc.string({ maxLength: 9 }), fc.integer(), fc.boolean(), fc.constant(null));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(name, tie('tree'), { maxKeys: 3, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(name, tree, { maxKeys: 4, noNullPrototype: true }), (value) => {
        const found = pairs(JSON.stringify(value, null, 1)).map(([key, text]) => `${key}=${text}`);
        expect(found).toEqual([...new Set(expected(value).map((one) => one.replaceAll('\0', '\uFFFD')))]);
      }),
    );
  });
});
