import { describe, expect, it } from '@jest/globals';
import { LabelGuard } from './metrics.js';

describe('the guard of labels', () => {
  it('reports a bounded number of values and `other` for the rest', () => {
    const guard = new LabelGuard({ route: { about: 'routes', max: 2 } });
    expect(['/a', '/b', '/c', '/a'].map((route) => guard.values({ route })[0])).toEqual([
      '/a',
      '/b',
      'other',
      '/a',
    ]);
  });

  it.each([
    ['a uuid', `/runs/${crypto.randomUUID()}`],
    ['a very long value', 'x'.repeat(121)],
  ])('replaces %s by `other`', (_, route) => {
    expect(new LabelGuard({ route: { about: 'routes', max: 9 } }).values({ route })).toEqual(['other']);
  });

  it('keeps the order of the rule', () => {
    const guard = new LabelGuard({ one: ['a'], two: ['b'] });
    expect(guard.values({ two: 'b', one: 'a' })).toEqual(['a', 'b']);
  });
});
