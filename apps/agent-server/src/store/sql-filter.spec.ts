import { createThread } from './statement/change-thread.js';
import { storedThread } from '../../testdata/stored-thread.js';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { sqlFilter, type MetadataFilter, type SqlFilter } from './scope.js';
import { WORKER } from './worker-scope.js';

const store = storeFixture();

async function lets(filter: SqlFilter, metadata: Record<string, unknown>): Promise<boolean> {
  const thread_id = newId();
  await createThread(WORKER, store.sql, thread_id, metadata, 'raise');
  return (await storedThread({ kind: 'caller', filter }, store.sql, thread_id)) !== undefined;
}

describe('sqlFilter', () => {
  it.each<[string, MetadataFilter, Record<string, unknown>, boolean]>([
    ['an equal value', { owner: 'alice' }, { owner: 'alice', more: 1 }, true],
    ['another value', { owner: 'alice' }, { owner: 'bob' }, false],
    ['no value', { owner: 'alice' }, {}, false],
    ['a list that holds the value', { owner: 'alice' }, { owner: ['alice'] }, false],
    ['a value of another type', { level: 1 }, { level: '1' }, false],
    ['$eq with an equal value', { owner: { $eq: 'alice' } }, { owner: 'alice' }, true],
    ['$eq with another value', { owner: { $eq: 'alice' } }, { owner: 'bob' }, false],
    [
      '$contains with a list that holds it',
      { members: { $contains: 'alice' } },
      { members: ['bob', 'alice'] },
      true,
    ],
    ['$contains with a list without it', { members: { $contains: 'alice' } }, { members: ['bob'] }, false],
    ['$contains with the value itself', { members: { $contains: 'alice' } }, { members: 'alice' }, false],
    [
      '$contains with all of several',
      { members: { $contains: ['a', 'b'] } },
      { members: ['b', 'c', 'a'] },
      true,
    ],
    ['$contains with some of several', { members: { $contains: ['a', 'b'] } }, { members: ['a'] }, false],
    ['$contains with no member at all', { members: { $contains: [] } }, { members: ['a'] }, false],
    [
      '$contains with no member at all, of an empty list',
      { members: { $contains: [] } },
      { members: [] },
      false,
    ],
    ['every key of several', { owner: 'alice', team: 'x' }, { owner: 'alice', team: 'x' }, true],
    ['one key of several', { owner: 'alice', team: 'x' }, { owner: 'alice' }, false],
    ['no condition at all', {}, { owner: 'bob' }, true],
    ['SQL in a value', { owner: `'; DROP TABLE agentplane.threads; --` }, { owner: 'bob' }, false],
    ['SQL in a key', { [`owner' = 'bob' OR '1`]: '1' }, { owner: 'bob' }, false],
    ['both operators, which no value meets', { a: { $eq: 'x', $contains: 'x' } }, { a: 'x' }, false],
  ])('decides on %s', async (_title, filter, metadata, expected) => {
    expect(await lets(sqlFilter(filter), metadata)).toBe(expected);
  });

  it('lets a row through that meets any of several filters', async () => {
    const filter = sqlFilter({ owner: 'alice' }, { public: true });
    expect(await lets(filter, { owner: 'alice' })).toBe(true);
    expect(await lets(filter, { owner: 'bob', public: true })).toBe(true);
    expect(await lets(filter, { owner: 'bob' })).toBe(false);
  });

  it('lets no row through without a filter', async () => {
    expect(await lets(sqlFilter(), {})).toBe(false);
  });

  it('refuses an operator that does not exist, and text that Postgres cannot hold', () => {
    const misspelt: object = { owner: { $eqq: 'alice' } };
    expect(() => sqlFilter({ ...misspelt })).toThrow('$eqq');
    expect(() => sqlFilter({ owner: {} })).toThrow('$contains');
    expect(() => sqlFilter({ owner: 'ali\u0000ce' })).toThrow('NUL');
  });
});
