import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseInstant } from '#lib/time';
import { BUILT_IN_PRICES } from './built-in-prices.js';
import { PriceBook } from './price-book.js';

const at = (iso: string) => parseInstant(iso, { zone: 'optional' }) ?? 0n;

describe('prices of the platform', () => {
  let book: PriceBook;

  beforeAll(async () => {
    book = PriceBook.of(BUILT_IN_PRICES);
  });

  it.each([
    ['gemini-2.5-flash', '2026-11-01', 'gemini-2.5-flash', '0.0000003'],
    ['models/gemini-2.5-flash', '2026-11-01', 'gemini-2.5-flash', '0.0000003'],
    ['publishers/google/models/gemini-2.5-flash-001', '2026-11-01', 'gemini-2.5-flash', '0.0000003'],
    ['google/gemini-2.5-flash-lite', '2026-11-01', 'gemini-2.5-flash-lite', '0.0000001'],
    ['gemini-3.1-flash-lite-preview', '2026-11-01', 'gemini-3.1-flash-lite', '0.00000025'],
    ['gemini-3.8-flash', '2026-12-31T23:59:59Z', 'gemini-3.8-flash', '0.00000075'],
    ['gemini-3.8-flash', '2027-01-01', 'gemini-3.8-flash', '0.0000015'],
    ['gpt-4o-2024-11-20', '2026-11-01', 'gpt-4o', '0.0000025'],
  ])('gives %s of %s the row %s', async (model, time, name, promptCost) => {
    const one = { model, modelMember: undefined, provider: undefined };
    await book.learn([one]);
    expect(book.find(one, at(time))).toMatchObject({ name, promptCost });
  });

  it.each([
    'gemini-2.5-pro',
    'gemini-3.1-pro-preview',
    'gemini-2.5-flash-image',
    'gemini-2.5-flash-preview-04-17',
  ])('has none for %s, whose price is another or depends on the prompt', async (model) => {
    const one = { model, modelMember: undefined, provider: undefined };
    await book.learn([one]);
    expect(book.find(one, at('2026-11-01'))).toBeUndefined();
  });

  it('names the pages of each row and when they were read', () => {
    for (const { sources, readOn } of BUILT_IN_PRICES) {
      expect(sources?.length).toBeGreaterThan(0);
      expect(readOn).toMatch(/^2026-\d\d-\d\d$/);
    }
  });
});
