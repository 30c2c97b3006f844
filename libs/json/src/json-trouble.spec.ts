import fc from 'fast-check';
import { findInvalidUtf8 } from './find-invalid-utf8.js';
import { findJsonTrouble, type JsonRules } from './json-trouble.js';
import { renderTrouble } from './render-trouble.js';

describe('findJsonTrouble', () => {
  const payload = new Set(['input']);
  it.each<[string, string, JsonRules, string | undefined]>([
    ['a name that comes twice', '{"a":1,"b":{"c":[{"d":1,"d":2}]}}', {}, 'duplicate name b.c.0.d'],
    ['a name that comes twice in two spellings', '{"a":1,"\\u0061":2}', {}, 'duplicate name a'],
    ['a name in two objects', '[{"a":1},{"a":{"a":1}}]', {}, undefined],
    ['a NUL in a name', '{"a":{"b\\u0000":1}}', {}, 'nul name a.b\0'],
    ['a NUL in a string', '[1,"x\\u0000"]', {}, 'nul string 1'],
    ['an escaped backslash before u0000', '{"a\\\\u0000":"\\\\u0000"}', {}, undefined],
    ['half a pair in a name', '{"\\uD83D":1}', {}, 'surrogate name \ud83d'],
    ['half a pair in a string', '{"a":"\\ude00\\ud83d"}', {}, 'surrogate string a'],
    ['a whole pair', '{"a":"\\ud83d\\ude00"}', {}, undefined],
    [
      'half a pair in a string, where it is allowed',
      '["\\ud83d"]',
      { allowInStrings: ['surrogate'] },
      undefined,
    ],
    [
      'half a pair in a name, where it is allowed in strings',
      '{"\\ud83d":1}',
      { allowInStrings: ['surrogate'] },
      'surrogate name \ud83d',
    ],
    ['anything in a payload', '{"input":{"a\\u0000":"\\u0000","b":1,"b":2}}', { payload }, undefined],
    [
      'anything in payloads of a list',
      '[{"input":{"a\\u0000":1}},{"input":"\\u0000"}]',
      { payload },
      undefined,
    ],
    ['two payloads of one name', '{"input":1,"input":2}', { payload }, 'duplicate name input'],
    ['a member behind a payload', '{"input":{},"a":"\\u0000"}', { payload }, 'nul string a'],
    ['a payload further in', '{"a":{"input":"\\u0000"}}', { payload }, 'nul string a.input'],
    [
      'a payload that is named by its path',
      '{"params":{"parts":[{"data":{"b":1,"b":2}}]}}',
      { payload: new Set(['params.parts.data']) },
      undefined,
    ],
    [
      'the last name of such a path elsewhere',
      '{"data":{"b":1,"b":2}}',
      { payload: new Set(['params.parts.data']) },
      'duplicate name data.b',
    ],
    [
      'names with dots that spell such a path',
      '{"params.parts":{"data":{"b":1,"b":2}}}',
      { payload: new Set(['params.parts.data']) },
      'duplicate name params.parts.data.b',
    ],
    ['depth in a payload', '{"input":[[[]]]}', { payload, maxDepth: 3 }, 'depth string input'],
    [
      'as many values as there may be',
      '{"input":[{ },[\n],1],"b":{"c":""}}',
      { payload, maxValues: 6 },
      undefined,
    ],
    ['one value more', '{"input":[{ },[\n],1],"b":{"c":""}}', { payload, maxValues: 5 }, 'count string '],
    ['too many values in a payload', '{"input":[[],{},[]]}', { payload, maxValues: 3 }, 'count string '],
    [
      'as many members as there may be',
      '{"input":[{"a":1},2,3],"b":":"}',
      { payload, maxMembers: 3 },
      undefined,
    ],
    [
      'one member more in a payload',
      '{"input":[{"a":1,"b":{"c":2}}]}',
      { payload, maxMembers: 3 },
      'members string ',
    ],
    ['one member more', '{"a":{"b":1},"c":2}', { maxMembers: 2 }, 'members string '],
    ['commas in a text', '{"input":[",,,,"],"b":",,,,"}', { payload, maxValues: 3 }, undefined],
    ['a NUL, where names alone matter', '{"\\u0000":"\\u0000"}', { duplicatesOnly: true }, undefined],
    ['__proto__', '{"a":{"__proto\\u005f_":1}}', {}, 'prototype name a.__proto__'],
    ['__proto__ in a payload', '{"input":{"__proto__":1}}', { payload }, undefined],
    ['a text that is no JSON', '{"a":"b', {}, undefined],
  ])('looks at %s', (_title, json, rules, expected) => {
    const found = findJsonTrouble(json, rules);
    expect(found && `${found.kind} ${found.isName ? 'name' : 'string'} ${found.path.join('.')}`).toBe(
      expected,
    );
  });

  it('says what was found and what to do', () => {
    expect(renderTrouble(findJsonTrouble('{"a":1,"a":2}') as never)).toBe(
      'the name "a" comes twice in one object; send it once',
    );
  });

  it('finds nothing in what a serialiser wrote of well-formed text', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((one) => !one.includes('\0'));
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: text }), (value) => {
        const json = JSON.stringify(value).replaceAll('__proto__', 'proto'); // a name that it finds
        expect(findJsonTrouble(json)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('finds every name that is doubled anywhere', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1, maxKeys: 40 });
    fc.assert(
      fc.property(object, fc.nat(), fc.nat({ max: 5 }), (members, which, depth) => {
        const names = Object.keys(members);
        const name = names[which % names.length] as string;
        const inner = JSON.stringify(members);
        const doubled = `${inner.slice(0, -1)},${JSON.stringify(name)}:null}`;
        const wrapped = `${'[0,{"x":'.repeat(depth)}${doubled}${'}]'.repeat(depth)}`;
        const found = findJsonTrouble(wrapped, { duplicatesOnly: true });
        expect(found).toMatchObject({ kind: 'duplicate', isName: true });
        expect(found?.path.at(-1)).toBe(name);
      }),
      { numRuns: 300 },
    );
  });

  it('finds exactly the strings and names that cannot be stored as they are', () => {
    const anything = fc.jsonValue({ stringUnit: 'binary' });
    const odd = (value: unknown): boolean => {
      if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed();
      if (typeof value !== 'object' || value === null) return false;
      return Object.entries(value).some(
        ([name, member]) => (!Array.isArray(value) && (name === '__proto__' || odd(name))) || odd(member),
      );
    };
    fc.assert(
      fc.property(
        fc.oneof(anything, fc.dictionary(fc.constantFrom('a', 'a\0', '\ud800'), anything)),
        (value) => {
          expect(findJsonTrouble(JSON.stringify(value)) !== undefined).toBe(
            odd(JSON.parse(JSON.stringify(value))),
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('findInvalidUtf8', () => {
  it.each<[string, Buffer, number | undefined]>([
    ['text', Buffer.from('{"a":"ä😀"}'), undefined],
    ['a stray byte', Buffer.from([0x22, 0x61, 0xff, 0x22]), 2],
    ['half a character at the end', Buffer.from('"ä').subarray(0, 2), 1],
    [
      'a character U+FFFD before a stray byte',
      Buffer.concat([Buffer.from('\ufffd'), Buffer.from([0xc3])]),
      3,
    ],
  ])('looks at %s', (_title, bytes, expected) => {
    expect(findInvalidUtf8(bytes)).toBe(expected);
  });
});
