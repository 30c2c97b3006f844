import { Batch } from './batch.js';

describe('Batch', () => {
  it('sends what came in while a statement was under way as one', async () => {
    const sizes: number[] = [];
    const batch = new Batch<number, number>(async (items) => {
      sizes.push(items.length);
      await new Promise((resolve) => setImmediate(resolve));
      return (item) => item * 2;
    });
    const first = batch.add(1);
    await new Promise((resolve) => setImmediate(resolve));
    const rest = [2, 3, 4].map((item) => batch.add(item));
    expect(await Promise.all([first, ...rest])).toEqual([2, 4, 6, 8]);
    expect(sizes).toEqual([1, 3]);
  });

  it('fails every item of a statement that failed, and goes on', async () => {
    let calls = 0;
    const batch = new Batch<number, number>(async () => {
      if (calls++ === 0) throw new Error('gone');
      return (item) => item;
    });
    const failed = await Promise.allSettled([batch.add(1), batch.add(2)]);
    expect(failed.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    expect(await batch.add(3)).toBe(3);
  });

  it('fails one item alone when its answer is a refusal', async () => {
    const batch = new Batch<number, number>(async () => (item) => {
      if (item === 2) throw new Error('refused');
      return item;
    });
    const settled = await Promise.allSettled([batch.add(1), batch.add(2), batch.add(3)]);
    expect(settled.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails an item that cannot be measured alone, and goes on', async () => {
    const sizes: number[] = [];
    const endless: Record<string, unknown> = {};
    endless['self'] = endless;
    const batch = new Batch<unknown, unknown>(
      async (items) => {
        sizes.push(items.length);
        return (item) => item;
      },
      { maxBytes: 3, bytesOf: (item) => JSON.stringify(item).length },
    );
    const settled = await Promise.allSettled([1, endless, 2, 3, 4].map((item) => batch.add(item)));
    expect(settled.map(({ status }) => status[0]).join('')).toBe('frfff');
    expect(sizes).toEqual([3, 1]);
    await expect(batch.add(endless)).rejects.toThrow('circular');
    expect(await batch.add(5)).toBe(5);
  });
});
