import fc from 'fast-check';
import { atOnce } from './json-walk.js';
import {
  type ByteRange,
  eachItem,
  eachMember,
  JsonSyntaxError,
  MAX_JSON_DEPTH,
  validateJson,
  validatingJson,
} from './json-scanner.js';

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
    const visit = (name: string, { start, end }: ByteRange): void => {
      found[name] = bytes.toString('utf8', start, end);
    };
    atOnce(eachMember(bytes, 0, visit));
    expect(found).toEqual({ a: '1.0', b: '[ 1 , 2 ]', 'c d': '{"a":"}"}', é: '"\\/"' });
  });

  it('finds items, and validates those after the last wanted one', () => {
    const items: string[] = [];
    const visit = (text: string) => {
      const bytes = Buffer.from(text);
      const take = ({ start, end }: ByteRange): boolean => {
        items.push(bytes.toString('utf8', start, end));
        return items.length < 2;
      };
      atOnce(eachItem(bytes, 0, take));
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

  it.each([
    ['white space', ' '],
    ['digits', '1'],
  ])('refuses a text with too many %s in one place, which it would read without a pause', (what, one) => {
    const textWith = (bytes: number) =>
      Buffer.from(`[0.${one === '1' ? one.repeat(bytes) : `1${one.repeat(bytes)}`}]`);
    expect(() => validateJson(textWith(1 << 20))).not.toThrow();
    expect(() => validateJson(textWith((1 << 20) + 1))).toThrow(`more than 1048576 bytes of ${what}`);
    expect(() => validateJson(Buffer.from(`[1]${one.repeat(2 << 20)}`))).toThrow(JsonSyntaxError);
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
      atOnce(eachMember(bytes, 0, (_name, { start }) => eachItem(bytes, start, () => true)));
    } finally {
      globalThis.Uint8Array = real;
    }
    expect(made).toBe(0);
  });

  it('finds the same in texts of many stretches, whatever others scan in its pauses', () => {
    const word = fc.constantFrom('a', '\\', '"', 'é', '\n', 'x'.repeat(70_000), '\\'.repeat(70_001));
    const text = fc.oneof(
      word,
      fc.tuple(word, word).map(([one, other]) => one + other),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>(null, 1, -1.5e300, [], {}),
        text,
        fc.array(tie('value'), { maxLength: 3 }),
        fc
          .array(fc.tuple(text, tie('value')), { maxLength: 3 })
          .map((members) => Object.fromEntries(members)),
        fc.constant(Array.from({ length: 40_000 }, (_, n) => n % 9)),
      ),
    }));
    const other = '[{"a":[{"b":[{}]}]}]';
    fc.assert(
      fc.property(value, fc.constantFrom('', '}', ']', ',', '"', '\\'), (given, extra) => {
        const whole = JSON.stringify([given, { last: given }]);
        for (const json of [whole, whole + extra, whole.slice(0, -1) + extra, whole.slice(0, -2)]) {
          const walk = validatingJson(Buffer.from(json));
          const found = (): boolean => {
            try {
              while (!walk.next().done) validateJson(Buffer.from(other));
              return true;
            } catch (error) {
              if (error instanceof JsonSyntaxError) return false;
              throw error;
            }
          };
          expect(found()).toBe(parses(json));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('keeps objects and lists apart below levels that an earlier value left open', () => {
    expect(judge('{"a":[{"b":[')).toBe(false);
    expect(judge('[{"a":[{}]}]')).toBe(true);
    expect(judge('[{"a":[{]}]')).toBe(false);
  });
});
