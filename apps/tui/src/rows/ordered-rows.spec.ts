import { ListedItems } from '../testdata/still-world.js';
import type { Item } from '../world/items.js';
import { OrderedRows, type RowOrder } from './ordered-rows.js';

function object(name: string, size = 0): Item {
  return { metadata: { name, labels: { size: String(size) } } };
}

const BY_NAME: RowOrder = {
  isShown: () => true,
  rankOf: ({ metadata }) => metadata.name,
  isDescending: false,
};
const BY_SIZE: RowOrder = { ...BY_NAME, rankOf: ({ metadata }) => Number(metadata.labels?.['size']) };

function names(rows: OrderedRows): readonly string[] {
  return rows.slice(0, rows.size).map(({ metadata }) => metadata.name);
}

const MANY = 50_000;

function nameOf(at: number): string {
  return `run-${String(at).padStart(5, '0')}`;
}

/** 50,000 objects in an order of their own. */
function many(): ListedItems {
  const all = Array.from({ length: MANY }, (_, at) => object(nameOf((at * 7919) % MANY), at));
  return new ListedItems(all);
}

describe('OrderedRows', () => {
  it('keeps rows in order as they come, change and go', () => {
    const items = new ListedItems([object('c'), object('a')]);
    const rows = new OrderedRows(items, BY_NAME);
    expect(names(rows)).toEqual(['a', 'c']);
    items.put(object('b'));
    expect(names(rows)).toEqual(['a', 'b', 'c']);
    expect([rows.indexOf('b'), rows.indexOf('nothing')]).toEqual([1, -1]);
    items.remove('a');
    expect(names(rows)).toEqual(['b', 'c']);
  });

  it('moves a row whose rank changed', () => {
    const items = new ListedItems(Array.from({ length: 100 }, (_, at) => object(`n${at}`, at)));
    const rows = new OrderedRows(items, BY_SIZE);
    expect(rows.at(0)?.metadata.name).toBe('n0');
    items.put(object('n0', 1000));
    expect([rows.at(0), rows.at(99)].map((one) => one?.metadata.name)).toEqual(['n1', 'n0']);
    expect(rows.size).toBe(100);
  });

  it('leaves out what the filter does not let through, also later', () => {
    const items = new ListedItems([object('a', 1), object('b', 2)]);
    const rows = new OrderedRows(items, {
      ...BY_NAME,
      isShown: ({ metadata }) => metadata.labels?.['size'] === '1',
    });
    expect(names(rows)).toEqual(['a']);
    items.put(object('b', 1));
    items.put(object('a', 3));
    expect(names(rows)).toEqual(['b']);
  });

  it('turns the order around, and keeps equal ranks by their keys', () => {
    const items = new ListedItems([object('b', 1), object('a', 1), object('c', 2)]);
    expect(names(new OrderedRows(items, { ...BY_SIZE, isDescending: true }))).toEqual(['c', 'a', 'b']);
  });

  it('touches each of 50,000 objects once for the list, and a few for each change', () => {
    const items = many();
    const rows = new OrderedRows(items, BY_NAME);
    expect(rows.size).toBe(MANY);
    expect(rows.touched).toBe(MANY);
    for (let at = 0; at < 100; at++) {
      const before = rows.touched;
      items.put(object(nameOf(at), -1));
      expect(rows.slice(1000, 1040)).toHaveLength(40);
      // two binary searches and one look
      expect(rows.touched - before).toBeLessThan(2 * 17 + 2);
    }
    const before = rows.touched;
    expect(rows.slice(20_000, 20_050)).toHaveLength(50);
    expect(rows.touched).toBe(before);
  });

  it('follows no more once it is closed', () => {
    const items = new ListedItems([object('a')]);
    const rows = new OrderedRows(items, BY_NAME);
    rows.close();
    items.put(object('b'));
    expect(names(rows)).toEqual(['a']);
  });
});
