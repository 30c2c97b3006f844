import type { Ranked } from '../store/statement/items.js';
import { BestItems } from './item-store.js';

describe('the best of many items', () => {
  function bestOf(items: readonly Ranked[], limit: number): Ranked[] {
    const best = new BestItems(limit);
    for (const item of items) best.add(item);
    return best.best();
  }

  it('orders by score, and items of one score by the number of their id', () => {
    const items = ['10', '9', '100', '2', '11'].map((itemId) => ({ itemId, score: itemId === '2' ? 0 : 1 }));
    expect(bestOf(items, 10).map(({ itemId }) => itemId)).toEqual(['9', '10', '11', '100', '2']);
    expect(bestOf(items, 2).map(({ itemId }) => itemId)).toEqual(['9', '10']);
    expect(bestOf([], 2)).toEqual([]);
  });

  it.each([1, 10, 3_000])('finds the same %i of thousands as one that sorts them all', (limit) => {
    const items = Array.from({ length: 20_000 }, (_, index) => ({
      itemId: String((index * 7_919) % 20_011),
      score: (index * 31) % 17,
    }));
    const sorted = [...items].sort(
      (one, other) => other.score - one.score || Number(one.itemId) - Number(other.itemId),
    );
    expect(bestOf(items, limit)).toEqual(sorted.slice(0, limit));
  });

  it('looks at few ids of items that are all alike', () => {
    let looks = 0;
    const item = (index: number): Ranked => ({
      score: 1,
      get itemId() {
        looks++;
        return String(1_000_000 + index);
      },
    });
    const best = new BestItems(10);
    for (let index = 0; index < 100_000; index++) best.add(item(index));
    const [first] = best.best();
    expect(first?.itemId).toBe('1000000');
    // a sort of all would look some seven million times
    expect(looks).toBeLessThan(700_000);
  });
});
