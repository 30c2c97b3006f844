import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect } from '@jest/globals';
import {
  evaluateFilter,
  type Filter,
  type FilterableRun,
  FilterError,
  parseFilter,
} from '#lib/filter-language';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { filterSql } from '../src/filter/filter-sql.js';
import { ParameterValues } from '../src/filter/sql-values.js';
import { openTraceStore } from '../src/index.js';
import { randomFilter, randomRuns } from './random-filters.js';
import { sqlShape } from './sql-shape.js';
import { prepareTables, storeRuns } from './store-runs.js';

const TENANT = randomUUID();
const PROJECT = randomUUID();
const RUNS = 80;
/** Filters that are refused are common: a pair cannot have two keys. */
const MOST_REFUSED = 0.25;

function parsed(text: string): Filter | undefined {
  try {
    return parseFilter(text);
  } catch (error) {
    if (error instanceof FilterError) return undefined;
    throw error;
  }
}

/** All of the runs began long ago. */
function asShown(run: FilterableRun): FilterableRun {
  const isLeft = run.status === 'pending' && run.endTime === undefined;
  return isLeft ? { ...run, status: 'interrupted' } : run;
}

/** Random filters over random runs find the same rows in Postgres and in memory. */
export async function checkRandomFilters(uri: string, count: number, seed: number): Promise<void> {
  const log = createLogger('test', 'error');
  const store = openTraceStore({ uri, poolSize: 3, log, clock: systemClock });
  await store.migrate();
  await store.close();
  const pool = openPool({ uri, maxConnections: 2, applicationName: 'test', log });
  try {
    await prepareTables(pool);
    const runs = randomRuns(RUNS, seed);
    await storeRuns(
      pool,
      TENANT,
      runs.map((run) => ({ projectId: PROJECT, run })),
    );
    // the same ids elsewhere are never found
    const strangers = randomRuns(RUNS, seed + 1).map((run) => ({ projectId: randomUUID(), run }));
    await storeRuns(pool, TENANT, strangers);
    await storeRuns(
      pool,
      randomUUID(),
      strangers.map(({ run }) => ({ projectId: PROJECT, run })),
    );
    let [refused, found] = [0, 0];
    const place = fc.constantFrom('filter', 'filter', 'filter', 'traceFilter', 'treeFilter');
    const property = fc.asyncProperty(randomFilter, place, async (text, where) => {
      const filter = parsed(text);
      if (!filter) return void refused++;
      const values = new ParameterValues(3);
      const sql = filterSql({ [where]: filter }, values);
      expect(sqlShape(sql)).toBe('C');
      const { rows } = await pool.query<{ id: string }>(
        `SELECT r.id FROM runs r WHERE r.tenant_id = $1 AND r.project_id = $2 AND ${sql} ORDER BY r.id`,
        [TENANT, PROJECT, ...values.values],
      );
      const meeting = runs.filter((run) => evaluateFilter(filter, asShown(run)));
      const traces = new Set(
        meeting.filter(({ isRoot }) => isRoot || where === 'treeFilter').map(({ traceId }) => traceId),
      );
      const expected = where === 'filter' ? meeting : runs.filter(({ traceId }) => traces.has(traceId));
      expect(rows.map(({ id }) => id)).toEqual(expected.map(({ id }) => id).sort());
      if (rows.length > 0 && rows.length < RUNS) found++;
    });
    await fc.assert(property, { numRuns: count, seed });
    expect(refused).toBeLessThan(count * MOST_REFUSED);
    expect(found).toBeGreaterThan(count / 5);
  } finally {
    await pool.end();
  }
}
