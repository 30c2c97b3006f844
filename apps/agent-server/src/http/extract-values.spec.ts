import { describe, expect, it } from '@jest/globals';
import { extractValues } from './search-answer.js';

function extracted(thread: string, paths: Readonly<Record<string, string>>): string {
  const walk = extractValues(thread, paths);
  for (;;) {
    const { done, value } = walk.next();
    if (done === true) return value;
  }
}

describe('extractValues', () => {
  const large = `{"values":{"text":"${'x'.repeat(2 << 20)}"}}`;

  it('takes parts of a small thread under several names', () => {
    const paths = { a: 'values.n', b: 'values.n', c: 'values', d: 'values.none' };
    expect(JSON.parse(extracted('{"values":{"n":[1]}}', paths))).toEqual({
      a: [1],
      b: [1],
      c: { n: [1] },
      d: null,
    });
  });

  it('takes all of a large thread', () => {
    expect(extracted(large, { a: 'values' }).length).toBeGreaterThan(2 << 20);
  });

  it('refuses the same part of a large thread under several names', () => {
    const paths = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`p${n}`, 'values.text']));
    expect(() => extracted(large, paths)).toThrow('name each part once');
  });
});
