import { describe, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { checkRandomFilters } from '../../testdata/check-random-filters.js';
import { testLake } from '../../testdata/test-lake.js';

const postgres = testPostgres();
const test = testLake();

/** `npm run test:long -- filters` has a hundred thousand, with another seed each time. */
describe('the SQL of random filters', () => {
  it('finds the same runs in Postgres and in memory', async () => {
    await checkRandomFilters((await postgres.freshDatabase()).uri, 150, 20_261_122);
  });

  it.each([
    { what: 'half of them', isSealed: (place: number) => place % 2 === 0 },
    { what: 'all of them', isSealed: () => true },
  ])('finds the same runs when $what are sealed', async ({ isSealed }) => {
    const { uri } = await postgres.freshDatabase();
    await checkRandomFilters(uri, 100, 20_261_129, { lake: test.options, isSealed });
  });
});
