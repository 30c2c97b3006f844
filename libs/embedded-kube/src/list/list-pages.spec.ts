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

describe('ListPages', () => {
  it('forgets the oldest lists when those that are kept are large together, never the newest', () => {
    const pages = new ListPages(systemClock, 100);
    const [first, second, third] = [10, 40, 500].map(
      (letters) => pages.first('l', items(letters), 1, 1).next ?? '',
    );
    for (const gone of [first, second]) expect(() => pages.next('l', gone ?? '', 1)).toThrow(/too old/);
    expect(pages.next('l', third ?? '', 1).items).toHaveLength(1);
    const small = [1, 2].map(() => pages.first('l', items(20), 1, 1).next ?? '');
    for (const kept of small) expect(pages.next('l', kept, 1).items).toHaveLength(1);
  });
});
