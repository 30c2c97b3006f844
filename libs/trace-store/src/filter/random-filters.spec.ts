import { describe, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { checkRandomFilters } from '../../testdata/check-random-filters.js';

const postgres = testPostgres();

/** `npm run test:long -- filters` has a hundred thousand, with another seed each time. */
describe('the SQL of random filters', () => {
  it('finds the same runs in Postgres and in memory', async () => {
    await checkRandomFilters((await postgres.freshDatabase()).uri, 500, 20_261_122);
  });
});
