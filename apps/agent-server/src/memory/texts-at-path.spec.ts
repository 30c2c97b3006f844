import { textsAtPath } from './item-index.js';

const value = {
  title: 'T',
  n: 5,
  yes: true,
  nothing: null,
  blank: ' ',
  authors: [{ name: 'A' }, { name: 'B' }],
  tags: ['x', 'y'],
  meta: { title: 'M', deep: { a: 1 } },
};

describe('textsAtPath', () => {
  it.each<[string, string[]]>([
    ['title', ['T']],
    ['n', ['5']],
    ['yes', ['true']],
    ['nothing', []],
    ['blank', []],
    ['missing.deeper', []],
    ['meta.title', ['M']],
    ['meta.deep', ['{\n  "a": 1\n}']],
    ['authors[*].name', ['A', 'B']],
    ['authors[0].name', ['A']],
    ['authors[-1].name', ['B']],
    ['authors[2].name', []],
    ['tags[*]', ['x', 'y']],
    ['tags.*', ['x', 'y']],
    ['{title,meta.title}', ['T', 'M']],
    ['meta.*', ['M', '{\n  "a": 1\n}']],
    ['constructor', []],
    ['__proto__', []],
    ['tags.length', []],
    ['$', [JSON.stringify(value, null, 2)]],
  ])('finds the texts at %s', (path, texts) => {
    expect(textsAtPath(value, path)).toEqual(texts);
  });

  it.each([
    ['alternatives that double the values of each part', '{,}'.repeat(19), 'invalid'],
    ['wildcards of a value that stands in itself often', `{${'list,'.repeat(200)}}.*`, 'invalid'],
    ['one large text by many names', `{${'text,'.repeat(50)}}`, 'too_large'],
    ['a text that becomes large by its indents', 'deep', 'too_large'],
  ])('refuses %s', (_what, path, code) => {
    const list = Array.from({ length: 5_000 }, () => null);
    const deep = Array.from({ length: 60 }).reduce<unknown>(
      (inner) => [inner],
      Array.from({ length: 40_000 }, () => 1),
    );
    const hostile = { list, deep, text: 'x'.repeat(100_000) };
    expect(() => textsAtPath(hostile, path)).toThrow(expect.objectContaining({ code }) as Error);
  });
});
