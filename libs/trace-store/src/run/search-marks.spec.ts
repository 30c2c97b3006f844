import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { MARK_BITS, markedBits, marksOf, searchedBits } from './search-marks.js';

const has = (marks: Buffer | undefined, bit: number): boolean =>
  ((marks?.[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0;
const finds = (marks: Buffer | undefined, text: string): boolean =>
  markedBits(text).every((bit) => has(marks, bit));

/** Ways in which clients write the same text. */
const WRITERS: Readonly<Record<string, (value: unknown) => string>> = {
  plain: (value) => JSON.stringify(value),
  'escaped beyond ASCII': (value) =>
    JSON.stringify(value).replace(
      /[^\x20-\x7e]/g,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  'escaped for pages': (value) =>
    JSON.stringify(value).replace(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`),
  'with escaped slashes': (value) => JSON.stringify(value).replaceAll('/', '\\/'),
};

describe('a root', () => {
  it.each(Object.keys(WRITERS))(
    'has the marks of every text of its inputs and outputs, written %s',
    (way) => {
      fc.assert(
        fc.property(
          fc.string({ unit: 'grapheme', maxLength: 60 }),
          fc.nat(60),
          fc.integer({ min: 3, max: 40 }),
          fc.boolean(),
          (text, from, length, isOutput) => {
            const json = Buffer.from(WRITERS[way]?.({ messages: [{ content: text }] }) ?? '');
            fc.pre(json.length <= 2_048);
            const marks = marksOf(isOutput ? { outputs: json, inputs: Buffer.from('{}') } : { inputs: json });
            // no half of a surrogate pair, which has no case
            return finds(marks, [...text].slice(from, from + length).join(''));
          },
        ),
      );
    },
  );

  it.each([
    ['letters of both cases', '"STRASSE ÄÖÜ"', 'äöü'],
    ['escaped letters', String.raw`"\u00c4\u00d6\u00dc"`, 'äöü'],
    ['tags that Go escapes', String.raw`"\u003cb\u003e fish \u0026 chips"`, '<b> fish & chips'],
    ['slashes that PHP escapes', String.raw`"slash\/y"`, 'slash/y'],
    ['line breaks and quotes', String.raw`"one\ntwo \"three\""`, 'one\ntwo "three"'],
  ])('has the marks of %s as people read them', (_what, json, text) => {
    expect(finds(marksOf({ inputs: Buffer.from(json) }), text)).toBe(true);
  });

  it('lacks marks of texts beyond its first 2,048 bytes, and of most texts that are nowhere', () => {
    const marks = marksOf({ inputs: Buffer.from(JSON.stringify({ text: `${'ab '.repeat(700)}needle` })) });
    expect(finds(marks, 'needle')).toBe(false);
    const words = Array.from({ length: 300 }, (_word, n) => (n * 7_919_313).toString(36)).join(' ');
    const full = marksOf({ inputs: Buffer.from(words), outputs: Buffer.from(words.toUpperCase()) });
    const wrong = Array.from({ length: 1_000 }, (_word, n) => `q${(n * 104_729).toString(36)}zq`);
    expect(wrong.filter((word) => finds(full, word)).length).toBeLessThan(50);
    expect(full).toHaveLength(MARK_BITS / 8);
  });

  it('has no marks without inputs and outputs', () => {
    expect(marksOf({ error: Buffer.from('failed') })).toBeUndefined();
  });
});

describe('a filter', () => {
  it.each([
    ['search("needle")', 4],
    ['and(eq(is_root, true), search("needle"))', 4],
    ['and(search("needle"), search(outputs, "need"))', 4],
    ['search("a text that is longer than sixteen trigrams")', 16],
    ['search("ab")', 0],
    ['search(name, "needle")', 0],
    ['or(search("needle"), eq(name, "x"))', 0],
    ['not(search("needle"))', 0],
    ['eq(name, "x")', 0],
  ])('demands the bits of its texts: %s, %d', (text, count) => {
    expect(searchedBits(parseFilter(text))).toHaveLength(count);
  });
});
