import fc from 'fast-check';
import { eachItem, eachMember, JsonSyntaxError, MAX_JSON_DEPTH, validateJson } from './json-scanner.js';

const judge = (text: string): boolean => {
  try {
    validateJson(Buffer.from(text));
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
};
const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the JSON scanner', () => {
  it.each([
    '',
    ' ',
    '{',
    '}',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    "{'a':1}",
    '01',
    '1.',
    '.5',
    '-',
    '+1',
    '1e',
    '1e+',
    '-0',
    '0',
    '-0.0e-10',
    'tru',
    'true',
    'nul',
    'null ',
    'NaN',
    '"\\x"',
    '"\\u12g4"',
    '"\\u1234"',
    '"\\ud800"',
    '"\n"',
    '"\t"',
    '"a',
    '"\\',
    '"\\u12',
    '[]',
    '{}',
    '[[]]',
    '[{}]',
    '{"a":{}}',
    '[1 2]',
    '{"a":1 "b":2}',
    '1 1',
    '[1]]',
    '// x',
    '\u00a01',
  ])('judges %j as JSON.parse does', (text) => {
    expect(judge(text)).toBe(parses(text));
  });

  it('accepts every document that JSON.stringify prints', () => {
    fc.assert(
      fc.property(fc.json({ depthSize: 'medium' }), fc.constantFrom('', ' ', '\n\t'), (text, space) => {
        expect(judge(space + text + space)).toBe(true);
      }),
    );
  });

  it('agrees with JSON.parse about documents with one changed character', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom(...'{}[],:"\\0-e.tn \u0001u'),
        (text, place, character) => {
          const at = place % text.length;
          const changed = text.slice(0, at) + character + text.slice(at + 1);
          expect(judge(changed)).toBe(parses(changed));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('finds members with the bytes of their values as they stand', () => {
    const found: Record<string, string> = {};
    const text = '{ "a" : 1.0 ,"b":[ 1 , 2 ],"\\u0063 d":{"a":"}"},"é":"\\/" }';
    const bytes = Buffer.from(`  ${text}`);
    eachMember(bytes, 0, (name, { start, end }) => {
      found[name] = bytes.toString('utf8', start, end);
    });
    expect(found).toEqual({ a: '1.0', b: '[ 1 , 2 ]', 'c d': '{"a":"}"}', é: '"\\/"' });
  });

  it('finds items, and validates those after the last wanted one', () => {
    const items: string[] = [];
    const visit = (text: string) => {
      const bytes = Buffer.from(text);
      eachItem(bytes, 0, ({ start, end }) => {
        items.push(bytes.toString('utf8', start, end));
        return items.length < 2;
      });
    };
    visit('[1, {"a":2} ,3]');
    expect(items).toEqual(['1', '{"a":2}']);
    expect(() => visit('[1, 2, x]')).toThrow(JsonSyntaxError);
  });

  it('refuses text that is nested too deeply, without overflowing the stack', () => {
    expect(judge('['.repeat(MAX_JSON_DEPTH) + ']'.repeat(MAX_JSON_DEPTH))).toBe(true);
    expect(judge('['.repeat(MAX_JSON_DEPTH + 1) + ']'.repeat(MAX_JSON_DEPTH + 1))).toBe(false);
    expect(judge('['.repeat(5_000_000))).toBe(false);
  });

  it('takes no memory of its own for a value', () => {
    const real = globalThis.Uint8Array;
    let made = 0;
    globalThis.Uint8Array = new Proxy(real, {
      construct: (target, given, newTarget) => {
        made++;
        return Reflect.construct(target, given, newTarget) as object;
      },
    });
    try {
      const bytes = Buffer.from(`{${Array.from({ length: 500 }, (_, n) => `"a${n}":[1,{}]`).join()}}`);
      made = 0;
      eachMember(bytes, 0, (_name, { start }) => void eachItem(bytes, start, () => true));
    } finally {
      globalThis.Uint8Array = real;
    }
    expect(made).toBe(0);
  });

  it('keeps objects and lists apart below levels that an earlier value left open', () => {
    expect(judge('{"a":[{"b":[')).toBe(false);
    expect(judge('[{"a":[{}]}]')).toBe(true);
    expect(judge('[{"a":[{]}]')).toBe(false);
  });
});
