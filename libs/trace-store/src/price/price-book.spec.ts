import { describe, expect, it } from '@jest/globals';
import { BUILT_IN_PRICES } from './price-lists.js';
import { compilePattern, knownPattern, PriceBook } from './price-book.js';

const modelOf = (model: string) => ({ model, modelMember: undefined, provider: undefined });

describe('a price book', () => {
  it('finds the price of every model that a call teaches it, however many there are', async () => {
    const prices = BUILT_IN_PRICES.slice(0, 1).map((price) => ({
      ...price,
      matchPattern: '^own',
      literal: undefined,
    }));
    const book = PriceBook.of(prices);
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

  it('prices models also after its patterns made room for those of others, and holds none itself', async () => {
    const [price] = BUILT_IN_PRICES;
    if (!price) throw new Error('no price');
    const book = PriceBook.of([{ ...price, matchPattern: '^mine', literal: undefined }]);
    await book.learn([modelOf('mine-1')]);
    const own = knownPattern('^mine');
    expect(own).toBeDefined();
    // more than 80 kilobytes each
    for (let n = 0; n < 400; n++) await compilePattern(`^${n}(abc|d[ef]g){45}x$`);
    expect(knownPattern('^mine')).toBeUndefined();
    await book.learn(['mine-1', 'mine-2'].map(modelOf));
    for (const model of ['mine-1', 'mine-2'])
      expect([model, book.find(modelOf(model), 1n << 60n)?.name]).toEqual([model, price.name]);
    expect(knownPattern('^mine')).not.toBe(own);
    const { bytes } = book;
    await book.learn([modelOf('m'.repeat(1_000))]);
    expect(book.bytes - bytes).toBeGreaterThanOrEqual(2_000);
  });
});
