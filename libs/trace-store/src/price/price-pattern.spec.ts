import { describe, expect, it, jest } from '@jest/globals';
import { RE2JS } from 're2js';
import { BUILT_IN_PRICES } from './price-lists.js';
import { compilePattern, tryPattern } from './price-book.js';

describe('a pattern of models', () => {
  it.each([
    ['(?i)[B-\u{25943}]', 32, 'in 32 ranges that end beyond ASCII, more than 4; leave (?i)'],
    ['(?i:[!-\\x{10ffff}])', 9, 'in 9 ranges'],
    ['(?si)[Ā-\u{10ffff}]', 5, 'in 5 ranges'],
    ['\\pL', 65, '65 classes by property (\\p), more than 8; use ranges'],
    ['[^\\P{Greek}]', 9, '9 classes by property'],
    ['a{15}', 2, 'its repetitions multiply to 225'],
  ])('made of %s %i times is refused before it is compiled', async (part, count, message) => {
    const compile = jest.spyOn(RE2JS, 'compile');
    try {
      expect(await tryPattern(part.repeat(count))).toContain(message);
      expect(compile).not.toHaveBeenCalled();
    } finally {
      compile.mockRestore();
    }
  });

  it.each(['(?i)^gpt-4o-\\d-[a-zà-ÿ]+$', '^\\pL{2,20}-[\\pN.]+$', 'é-ü', '(?i)(?P<i>claude)-[0-9]'])(
    '%s is taken',
    async (source) => expect(await tryPattern(source)).toMatchObject({ size: expect.any(Number) }),
  );

  it('takes those of the platform', async () => {
    for (const { matchPattern } of BUILT_IN_PRICES)
      expect(await tryPattern(matchPattern)).toMatchObject({ size: expect.any(Number) });
  });

  it('remembers it when it is stored, and not when it is tried, until others need the room', async () => {
    expect(await tryPattern('^tried$')).not.toBe(await tryPattern('^tried$'));
    const stored = await compilePattern('^stored$');
    expect(await compilePattern('^stored$')).toBe(stored);
    expect(await tryPattern('^stored$')).toBe(stored);
    // more than 80 kilobytes each
    for (let n = 0; n < 400; n++) await compilePattern(`^${n}(abc|d[ef]g){45}$`);
    expect(await tryPattern('^stored$')).not.toBe(stored);
    expect(await tryPattern('^399(abc|d[ef]g){45}$')).toBe(await tryPattern('^399(abc|d[ef]g){45}$'));
  });
});
