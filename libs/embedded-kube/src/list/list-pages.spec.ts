import { describe, expect, it } from '@jest/globals';
import { systemClock } from '#lib/time';
import type { StoredObject } from '../store/stored-object.js';
import { ListPages } from './list-pages.js';

const items = (letters: number): readonly StoredObject[] =>
  Array.from({ length: 2 }, () => ({
    object: { apiVersion: 'v1', kind: 'X', metadata: {} },
    json: 'x'.repeat(letters),
    revision: 1,
  }));

const asked = (letters: number, owner = 'ann') => ({
  of: 'l',
  items: items(letters),
  revision: 1,
  limit: 1,
  owner,
});

describe('ListPages', () => {
  it('forgets the oldest lists when those that are kept are large together, never the newest', () => {
    const pages = new ListPages(systemClock, 100);
    const [first, second, third] = [10, 40, 500].map((letters) => pages.first(asked(letters)).next ?? '');
    for (const gone of [first, second]) expect(() => pages.next('l', gone ?? '', 1)).toThrow(/too old/);
    expect(pages.next('l', third ?? '', 1).items).toHaveLength(1);
    const small = [1, 2].map(() => pages.first(asked(20)).next ?? '');
    for (const kept of small) expect(pages.next('l', kept, 1).items).toHaveLength(1);
  });

  it('keeps nothing of a list whose first page is refused', () => {
    const pages = new ListPages(systemClock, 100);
    const kept = pages.first(asked(20)).next ?? '';
    const looked: number[] = [];
    const admit = (page: readonly StoredObject[]): void => {
      looked.push(page.length);
      throw new Error('too much is unread');
    };
    // it would push the other out
    expect(() => pages.first({ ...asked(40), admit })).toThrow('too much is unread');
    expect(pages.next('l', kept, 1).items).toHaveLength(1);
    expect(looked).toEqual([1]);
  });

  it('keeps the lists of others when one user has many or large ones', () => {
    const pages = new ListPages(systemClock, 10_000);
    const kept = pages.first(asked(10, 'ann')).next ?? '';
    const many = Array.from({ length: 600 }, () => pages.first(asked(1, 'bob')).next ?? '');
    expect(pages.next('l', kept, 1).items).toHaveLength(1);
    expect(() => pages.next('l', many[0] ?? '', 1)).toThrow(/too old/);
    expect(pages.next('l', many.at(-1) ?? '', 1).items).toHaveLength(1);
    for (let count = 0; count < 10; count++) pages.first(asked(4_900, 'bob'));
    expect(pages.next('l', kept, 1).items).toHaveLength(1);
  });
});
