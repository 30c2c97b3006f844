import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { findingJsonTrouble } from './json-trouble.js';
import { atOnce, type JsonWalk } from './json-walk.js';
import { parsingJson } from './parsing-json.js';

const DEPTH = 128;
const parse = (text: string): unknown => atOnce(parsingJson(Buffer.from(text), text, DEPTH));
const letters = 1024 * 1024;

const MANY: [string, string][] = [
  ['short items', `[${'[],'.repeat(letters / 3)}0]`],
  ['numbers', `[${'-1.5e3,'.repeat(letters / 7)}0]`],
  ['texts', JSON.stringify(Array.from({ length: letters / 20 }, (_, index) => `text ${index}`))],
  [
    'names',
    JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`n${index}`, 1]))),
  ],
];

/** A text in one string, over which the look for trouble goes in one step. */
const LONG: [string, string][] = [
  ...MANY,
  ['one plain text', JSON.stringify('x'.repeat(letters))],
  ['one text of escapes', `"${'\\n\\u00e9\\\\'.repeat(letters / 10)}"`],
  ['one text of quotes', `["${'\\"'.repeat(letters / 2)}"]`],
  ['one text of pairs of surrogates', `{"a":"${'\\ud83d\\ude00'.repeat(letters / 12)}"}`],
];

/** Pauses of a walk. */
function pausesOf(walk: JsonWalk<unknown>): number {
  let pauses = 0;
  while (walk.next().done !== true) pauses++;
  return pauses;
}

describe('parsing in turns', () => {
  it.each(LONG)('answers what the engine answers: %s', (_title, text) => {
    expect(JSON.stringify(parse(text)) === JSON.stringify(JSON.parse(text))).toBe(true);
  });

  it.each(LONG)('pauses while it parses %s', (_title, text) => {
    expect(pausesOf(parsingJson(Buffer.from(text), text, DEPTH))).toBeGreaterThan(10);
  });

  it.each(MANY)('pauses while it looks for trouble in %s', (_title, text) => {
    expect(pausesOf(findingJsonTrouble(text))).toBeGreaterThan(5);
  });

  it('answers what the engine answers, of any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parse(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it('ends no piece of a long text within an escape', () => {
    for (let shift = 0; shift < 12; shift++) {
      const text = JSON.stringify(`${'x'.repeat(shift)}${'\\\n\u0001"'.repeat(20_000)}`);
      expect(parse(text)).toBe(JSON.parse(text));
    }
  });

  it.each(['[1,]', '{"a":}', '"a', '[1] 2', '', `${'['.repeat(200)}${']'.repeat(200)}`])(
    'refuses %s',
    (text) => {
      expect(() => parse(text)).toThrow();
    },
  );
});
