import { describe, expect, it } from '@jest/globals';
import { atOnce } from '#lib/json';
import { replaceNonFinite } from './text-pieces.js';

describe('replaceNonFinite', () => {
  it.each([
    ['[NaN,-Infinity,Infinity,-1]', '[null,null,null,-1]'],
    ['{"NaN":"Infinity","a":NaN}', '{"NaN":"Infinity","a":null}'],
    ['NaN', 'null'],
    ['["\\"NaN",NaN]', '["\\"NaN",null]'],
  ])('replaces the words of %s', (given, expected) => {
    expect(atOnce(replaceNonFinite(Buffer.from(given)))?.toString()).toBe(expected);
  });

  it('leaves a text alone that has the words in strings only', () => {
    expect(atOnce(replaceNonFinite(Buffer.from('{"a":"NaN -Infinity"}')))).toBeUndefined();
  });

  it.each([
    ['quotes', '[NaN,"', '\\"', '"]', true],
    ['beginnings of a word', '["', 'N', '"]', false],
    ['words', '[', 'NaN,', '1]', true],
  ])('pauses within a text of %s', (_title, open, part, close, isReplaced) => {
    const json = Buffer.from(open + part.repeat((4 << 20) / part.length) + close);
    const walk = replaceNonFinite(json);
    let steps = 0;
    let step = walk.next();
    for (; !step.done; step = walk.next()) steps++;
    expect(step.value !== undefined).toBe(isReplaced);
    // 64 KiB each
    expect(steps).toBeGreaterThan(60);
  });

  it('makes no piece of its own for each of a million words', () => {
    const json = Buffer.from(`[${'NaN,'.repeat(1_000_000)}1]`);
    const { subarray } = Buffer.prototype;
    let pieces = 0;
    Buffer.prototype.subarray = function (from?: number, to?: number) {
      pieces++;
      return subarray.call(this, from, to);
    };
    try {
      expect(atOnce(replaceNonFinite(json))).toHaveLength(5_000_003);
    } finally {
      Buffer.prototype.subarray = subarray;
    }
    expect(pieces).toBeLessThan(10);
  });
});
