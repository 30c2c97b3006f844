import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { copyOut, openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { EXPRESSIONS } from '../../../../test/support/filter-expressions.js';
import { TRACE_EXPRESSIONS } from '../../../../test/support/trace-expressions.js';
import { sqlShape } from '../../testdata/sql-shape.js';
import { prepareTables, storeRuns } from '../../testdata/store-runs.js';
import { openTraceStore } from '../index.js';
import { filterSql, ParameterValues, SettingValues } from './filter-sql.js';
import type { RunFilters } from './payload-filters.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const TENANT = randomUUID();
const postgres = testPostgres();

describe('the SQL of filters', () => {
  let pool: Pool;
  const projects = EXPRESSIONS.map(() => randomUUID());
  const traceProjects = TRACE_EXPRESSIONS.map(() => randomUUID());

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const log = createLogger('test', 'error');
    const store = openTraceStore({ uri, poolSize: 3, log, clock: systemClock });
    await store.migrate();
    await store.close();
    pool = openPool({ uri, maxConnections: 2, applicationName: 'test', log });
    await prepareTables(pool);
    const rows = EXPRESSIONS.flatMap(({ finds, leaves }, at) =>
      [...finds, ...leaves].map((run) => ({ projectId: projects[at] ?? '', run })),
    );
    const traces = TRACE_EXPRESSIONS.flatMap(({ runs }, at) =>
      runs.map((run) => ({ projectId: traceProjects[at] ?? '', run })),
    );
    await storeRuns(pool, TENANT, [...rows, ...traces]);
  });
  afterAll(() => pool.end());

  async function idsByParameters(filters: RunFilters, projectId: string): Promise<string[]> {
    const values = new ParameterValues(3);
    const sql = filterSql(filters, values);
    expect(sqlShape(sql)).toBe('C');
    const { rows } = await pool.query<{ id: string }>(
      `SELECT r.id FROM runs r WHERE r.tenant_id = $1 AND r.project_id = $2 AND ${sql}`,
      [TENANT, projectId, ...values.values],
    );
    return rows.map(({ id }) => id).sort();
  }

  async function idsByCopy(filters: RunFilters, projectId: string): Promise<string[]> {
    const values = new SettingValues();
    const sql = filterSql(filters, values);
    expect(sqlShape(sql)).toBe('C');
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      for (const [name, value] of [['test.project', projectId] as const, ...values.settings])
        await client.query('SELECT set_config($1, $2, true)', [name, value]);
      const rows = copyOut(
        client,
        `SELECT r.id::text FROM runs r WHERE r.project_id = current_setting('test.project')::uuid AND ${sql}`,
      );
      const chunks: Buffer[] = [];
      for await (const chunk of rows) chunks.push(chunk as Buffer);
      await client.query('COMMIT');
      return [
        ...Buffer.concat(chunks)
          .toString('latin1')
          .matchAll(/[0-9a-f-]{36}/g),
      ]
        .map(([id]) => id)
        .sort();
    } finally {
      client.release(true);
    }
  }

  it.each(EXPRESSIONS.map((expression, at) => ({ ...expression, at })))(
    'finds what the filter means: $filter',
    async ({ filter, finds, at }) => {
      const filters = { filter: parseFilter(filter) };
      const ids = finds.map(({ id }) => id).sort();
      expect(await idsByParameters(filters, projects[at] ?? '')).toEqual(ids);
      expect(await idsByCopy(filters, projects[at] ?? '')).toEqual(ids);
    },
  );

  it.each(TRACE_EXPRESSIONS.map((expression, at) => ({ ...expression, at })))(
    'finds runs by others of their trace: $filter, $traceFilter, $treeFilter',
    async ({ filter, traceFilter, treeFilter, finds, at }) => {
      const filters = {
        filter: parseFilter(filter),
        traceFilter: parseFilter(traceFilter),
        treeFilter: treeFilter === undefined ? undefined : parseFilter(treeFilter),
      };
      const ids = finds.map(({ id }) => id).sort();
      expect(ids.length).toBeGreaterThan(0);
      expect(await idsByParameters(filters, traceProjects[at] ?? '')).toEqual(ids);
      expect(await idsByCopy(filters, traceProjects[at] ?? '')).toEqual(ids);
    },
  );
});
