import { Batch } from './batch.js';

describe('a batch', () => {
  it('sends what came in while a statement was under way as one', async () => {
    const sizes: number[] = [];
    const batch = new Batch<number, number>(async (items) => {
      sizes.push(items.length);
      await new Promise((resolve) => setImmediate(resolve));
      return items.map((item) => item * 2);
    });
    const first = batch.add(1);
    await new Promise((resolve) => setImmediate(resolve));
    const rest = [2, 3, 4].map((item) => batch.add(item));
    expect(await Promise.all([first, ...rest])).toEqual([2, 4, 6, 8]);
    expect(sizes).toEqual([1, 3]);
  });

  it('fails all of a statement that failed, and goes on', async () => {
    let calls = 0;
    const batch = new Batch<number, number>(async (items) => {
      if (calls++ === 0) throw new Error('gone');
      return items;
    });
    const failed = await Promise.allSettled([batch.add(1), batch.add(2)]);
    expect(failed.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    expect(await batch.add(3)).toBe(3);
  });
});
