import { describe, expect, it } from '@jest/globals';
import { BUILT_IN_PRICES } from './built-in-prices.js';
import { PriceBook } from './price-book.js';

const modelOf = (model: string) => ({ model, modelMember: undefined, provider: undefined });

describe('a price book', () => {
  it('finds the price of every model that a call teaches it, however many there are', async () => {
    const prices = BUILT_IN_PRICES.slice(0, 1).map((price) => ({ ...price, matchPattern: '^own' }));
    const book = await PriceBook.of(prices.map((price) => ({ ...price, provider: undefined })));
    const isFound = (model: string): boolean => book.find(modelOf(model), 1n << 60n) !== undefined;
    const many = Array.from({ length: 2_500 }, (_, n) => `own-${n}`);
    for (const models of [['own'], ['own', ...many], many]) {
      await book.learn(models.map(modelOf));
      expect(models.filter((model) => !isFound(model))).toEqual([]);
    }
    expect(isFound('own')).toBe(false);
    // those that were asked for last stay
    await book.learn(['own-2499', 'new'].map(modelOf));
    expect(['own-0', 'own-2498', 'own-2499'].map(isFound)).toEqual([false, true, true]);
  });
});
