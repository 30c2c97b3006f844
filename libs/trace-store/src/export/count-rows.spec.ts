import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { parseInstant, systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../index.js';
import { countRows } from './count-rows.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const log = createLogger('test', 'silent');
const TENANT = randomUUID();
const RUNS = 2_400;
const SECONDS_BETWEEN = 60;
const FIRST = Date.parse('2026-11-19T00:00:00Z');

const at = (text: string) => parseInstant(text, { zone: 'optional' }) ?? 0n;

describe('the count of an export', () => {
  const postgres = testPostgres();
  let store: TraceStore;
  let pool: Pool;
  let projectId: string;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    pool = openPool({ uri, applicationName: 'count', settings: { timezone: 'UTC' }, log });
    store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    const post = Array.from({ length: RUNS }, (_, n) => {
      const id = randomUUID();
      const start_time = new Date(FIRST + n * SECONDS_BETWEEN * 1000).toISOString();
      const run = { id, trace_id: id, name: 'n', run_type: n % 4 === 0 ? 'llm' : 'chain', start_time };
      const inputs = Buffer.from(JSON.stringify({ text: `${n % 2 === 0 ? 'needle' : 'hay'} `.repeat(500) }));
      return { run: Buffer.from(JSON.stringify(run)), fields: { inputs } };
    });
    for (let from = 0; from < RUNS; from += 400) {
      const { refused } = await store.ingest(TENANT, { post: post.slice(from, from + 400), patch: [] });
      expect(refused).toEqual([]);
    }
    projectId = (await store.projects.ensure(TENANT, 'default')).id;
  });
  afterAll(async () => {
    await store.close();
    await pool.end();
  });

  it.each([
    ['2026-11-19', '2026-11-21'],
    ['2026-11-19T00:00:00.000001', '2026-11-19T23:59:59'],
    ['2026-11-19T10:00:00', '2026-11-19T10:00:00.000001'],
    ['2026-11-19T10:30:01', '2026-11-20T09:29:00'],
    ['2026-11-19T10:30', '2026-11-19T10:50'],
    ['1926-11-19', '2036-11-19'],
    ['2026-11-25', '2026-11-26'],
  ])('counts every row from %s to %s', async (start, end) => {
    const [startTime, endTime] = [at(start), at(end)];
    const inside = Array.from(
      { length: RUNS },
      (_, n) => BigInt(FIRST + n * SECONDS_BETWEEN * 1000) * 1000n,
    ).filter((time) => time >= startTime && time < endTime);
    const window = { tenantId: TENANT, projectId, startTime, endTime };
    expect(await store.exportCounts.count(window)).toEqual({ rows: inside.length, isExact: true });
  });

  const window = () => ({
    tenantId: TENANT,
    projectId,
    startTime: at('2026-11-19T12:00'),
    endTime: at('2026-11-20T12:00'),
  });

  it('counts the runs that meet a filter', async () => {
    const filter = parseFilter('and(eq(run_type, "llm"), search("needle"))');
    expect(await store.exportCounts.count({ ...window(), filter })).toEqual({ rows: 360, isExact: true });
  });

  it('estimates from a sample where looking at the runs takes too long', async () => {
    const filter = parseFilter('search("needle")');
    const { rows, isExact } = await countRows(pool, { ...window(), filter }, { countMs: 1, sampleMs: 5_000 });
    expect(isExact).toBe(false);
    expect(rows).toBeGreaterThan(700);
    expect(rows).toBeLessThan(740);
  });

  it('counts all runs where not even a sample could be read', async () => {
    const filter = parseFilter('search("needle")');
    const limits = { countMs: 1, sampleMs: 1, rowsAtPlace: 2_000 };
    expect(await countRows(pool, { ...window(), filter }, limits)).toEqual({ rows: 1_440, isExact: false });
  });

  it('has no rows of another tenant', async () => {
    const other = { ...window(), tenantId: randomUUID() };
    expect(await store.exportCounts.count(other)).toEqual({ rows: 0, isExact: true });
  });
});
