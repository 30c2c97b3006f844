import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect } from '@jest/globals';
import { type Filter, FilterError, parseFilter } from '#lib/filter-language';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { evaluateFilter, type FilterableRun } from '../../../test/support/evaluate-filter.js';
import { filterSql, ParameterValues, sealedPlacesSql } from '../src/filter/filter-sql.js';
import { lightFilters, payloadsOf, type RunFilters } from '../src/filter/payload-filters.js';
import { openTraceStore } from '../src/index.js';
import { limitedReadOfSealed, SealedLoader, type SealedPlaces } from '../src/lake/sealed-loader.js';
import type { LakeStore } from '../src/lake/segment-reader.js';
import { SegmentReader } from '../src/lake/segment-reader.js';
import { randomFilter, randomRuns } from './random-filters.js';
import { sqlShape } from './sql-shape.js';
import { prepareTables, storeRuns } from './store-runs.js';
import { sealRuns } from './seal-runs.js';

const TENANT = randomUUID();
const PROJECT = randomUUID();
const RUNS = 80;
/** Filters that are refused are common: a pair cannot have two keys. */
const MOST_REFUSED = 0.25;

const FOUND = 'FROM runs r WHERE r.tenant_id = $1 AND r.project_id = $2 AND';
const LIMIT = { what: 'Finding these runs', advice: 'make the test smaller' };

/** Sealed runs that a filter may read. */
function placesOf(filters: RunFilters): SealedPlaces {
  const values = new ParameterValues(3);
  const rowsOf = (columns: string, condition: string): string =>
    `SELECT ${columns} ${FOUND} ${filterSql(lightFilters(filters), values)} AND ${condition}`;
  const text = sealedPlacesSql(filters, rowsOf, values);
  const fields = payloadsOf(filters);
  return {
    tenantId: TENANT,
    projectIds: [PROJECT],
    fields,
    text,
    values: [TENANT, PROJECT, ...values.values],
  };
}

/** Days of which runs are sealed before filters are tried. */
export interface SealedBefore {
  readonly lake: LakeStore;
  readonly isSealed: (place: number) => boolean;
}

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
export async function checkRandomFilters(
  uri: string,
  count: number,
  seed: number,
  before?: SealedBefore,
): Promise<void> {
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
    const sealed = before && new SealedLoader(new SegmentReader(before.lake));
    const { isSealed = () => true } = before ?? {};
    if (before)
      await sealRuns(pool, before.lake, {
        tenantId: TENANT,
        projectId: PROJECT,
        isSealed,
        rowsOfFile: 17,
      });
    let [refused, found] = [0, 0];
    const place = fc.constantFrom('filter', 'filter', 'filter', 'traceFilter', 'treeFilter');
    const property = fc.asyncProperty(randomFilter, place, async (text, where) => {
      const filter = parsed(text);
      if (!filter) return void refused++;
      const filters = { [where]: filter };
      const { rows } = await limitedReadOfSealed(
        pool,
        sealed,
        () => placesOf(filters),
        (db, readsSealed) => {
          const values = new ParameterValues(3, readsSealed);
          const sql = filterSql(filters, values);
          expect(sqlShape(sql)).toBe('C');
          return db.query<{ id: string }>(`SELECT r.id ${FOUND} ${sql} ORDER BY r.id`, [
            TENANT,
            PROJECT,
            ...values.values,
          ]);
        },
        LIMIT,
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
