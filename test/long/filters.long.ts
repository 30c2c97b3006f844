import { describe, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { checkRandomFilters } from '../../libs/trace-store/testdata/check-random-filters.js';

const COUNT = Number(process.env['FILTER_COUNT'] ?? 100_000);
const SEED = Number(process.env['FILTER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const postgres = testPostgres();

describe(`the SQL of ${COUNT} random filters, FILTER_SEED=${SEED}`, () => {
  it('finds the same runs in Postgres and in memory', async () =>
    checkRandomFilters((await postgres.freshDatabase()).uri, COUNT, SEED));
});
