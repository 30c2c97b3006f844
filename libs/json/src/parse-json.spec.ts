import { describe, expect, it } from '@jest/globals';
import { parseJson } from './parse-json.js';

describe('parseJson', () => {
  it.each([
    ['{"h":[],"\\\\":0}', '{"h":1,"\\"":2}', { h: 1, '"': 2 }],
    ['{"h":[],"\\\\":0}', '{"h":1,"\\n":2}', { h: 1, '\n': 2 }],
    ['{"user":"a","caf\\\\":0}', '{"user":"b","caf\\u00e9":2}', { user: 'b', café: 2 }],
    [
      '{"x":{"user":"a","caf\\\\":0}}',
      '[{"x":{"user":"b","caf\\u00e9" : 2}}]',
      [{ x: { user: 'b', café: 2 } }],
    ],
  ])('takes no name for one that was parsed before: %s, %s', (before, text, value) => {
    JSON.parse(before);
    parseJson(before);
    expect(parseJson(text)).toEqual(value);
  });

  it('answers what the engine answers', () => {
    const texts = [
      '1',
      '"a\\"b"',
      'null',
      '[]',
      '{}',
      ' [ 1 , -2.5e3 , true , "" ] ',
      '"\\ud83d\\ude00"',
      '-0',
      '{"\\u0061":1,"b":{"c\\t":[{},[],"\\\\",{"d":null}],"":"x"},"1":2,"a":3}',
      '{"\\u005f_proto__":{"x":1},"__proto__":2,"constructor":3,"\\ud800":4}',
      `{"\\u00e9":${'['.repeat(2_000)}${']'.repeat(2_000)}}`,
      JSON.stringify({ 'a\nb': 'long "text" \\ '.repeat(1_000), z: [false, { 'q"': '' }] }),
    ];
    for (const text of texts) {
      // the same names in an object of their own shape
      const expected: unknown = JSON.parse(`{"k${texts.indexOf(text)}":${text}}`);
      const found = { [`k${texts.indexOf(text)}`]: parseJson(text) };
      expect(JSON.stringify(found)).toBe(JSON.stringify(expected));
    }
    expect(Object.getPrototypeOf(parseJson('{"\\u005f_proto__":{"x":1}}'))).toBe(Object.prototype);
  });

  it.each(['{"a\\n":1', '{"a\\n":1,}', '{"a\\n" 1}', '{"a\\n":01}', '["\\u00e"]', '\\', ''])(
    'refuses what is no JSON: %s',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );
});
