import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type RunCursor, type TraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const TENANT = randomUUID();
const RUNS = 60_000;
const START = Date.parse('2026-03-01T00:00:00Z');

/** Copies of the one stored run, a second apart from one another. */
const COPY = (table: string, columns: readonly string[], idColumn: string): string => {
  const named = columns.join(', ');
  const values = columns.map((name) =>
    name === idColumn || name === 'trace_id'
      ? 'c.id'
      : name === 'start_time'
        ? `t.start_time + c.n * interval '1 second'`
        : `t.${name}`,
  );
  return `INSERT INTO ${table} (${named}) SELECT ${values.join(', ')} FROM ${table} t CROSS JOIN copies c
    WHERE t.tenant_id = '${TENANT}'`;
};

/** 300 MB of payloads, which took longer than the limit of a statement when they were searched at once. */
describe('a search in the payloads of a large project', () => {
  const postgres = testPostgres();
  let store: TraceStore;
  let pool: Pool;

  async function columnsOf(table: string): Promise<readonly string[]> {
    const { rows } = await pool.query<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
        AND attgenerated = ''`,
      [table],
    );
    return rows.map(({ name }) => name);
  }

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const log = createLogger('test', 'error');
    store = openTraceStore({ uri, log, clock: systemClock });
    pool = openPool({ uri, applicationName: 'test', log, maxConnections: 2 });
    const id = randomUUID();
    const run = { id, trace_id: id, name: 'n', run_type: 'chain', session_name: 'p' };
    const words = Array.from({ length: 700 }, (_word, n) => `${(n * 7_919).toString(36)}ä`).join(' ');
    await store.ingest(TENANT, {
      post: [
        {
          run: Buffer.from(JSON.stringify({ ...run, start_time: new Date(START).toISOString() })),
          fields: { inputs: Buffer.from(JSON.stringify({ text: words })) },
        },
      ],
      patch: [],
    });
    await pool.query(
      `CREATE TABLE copies AS SELECT n, gen_random_uuid() AS id FROM generate_series(1, ${RUNS - 1}) n`,
    );
    for (const table of ['run_keys', 'run_payloads', 'runs'])
      await pool.query(COPY(table, await columnsOf(table), 'id'));
    const rare = randomUUID();
    await store.ingest(TENANT, {
      post: [
        {
          run: Buffer.from(
            JSON.stringify({ ...run, id: rare, trace_id: rare, start_time: new Date(START).toISOString() }),
          ),
          fields: { outputs: Buffer.from(JSON.stringify({ text: 'Where is the QUARTZ invoice?' })) },
        },
      ],
      patch: [],
    });
    await pool.query('VACUUM ANALYZE');
  });
  afterAll(async () => {
    await pool.end();
    await store.close();
  });

  it('answers each page within its time, says how far it looked, and reads every run once', async () => {
    const [project] = await store.projects.list(TENANT, { limit: 1, offset: 0 });
    const search = {
      projectIds: [project?.id ?? ''],
      filters: { filter: parseFilter('search("Ö no such")') },
    };
    const looked: bigint[] = [];
    const took: number[] = [];
    let after: RunCursor | undefined;
    do {
      const begun = performance.now();
      const page = { order: 'descending', limit: 100, fields: [], maxBytes: 1_000_000, after } as const;
      const found = await store.runs.search(TENANT, search, page);
      took.push(Math.round(performance.now() - begun));
      expect(found.runs).toEqual([]);
      expect(found.lookedTo === undefined).toBe(found.next === undefined);
      if (found.lookedTo !== undefined) looked.push(found.lookedTo);
      after = found.next;
    } while (after);
    expect(looked).toEqual(looked.toSorted((a, b) => Number(b - a)));
    // each page but the last ends by its time, whatever the machine's speed
    expect(Math.max(...took)).toBeLessThan(10_000);
    process.stderr.write(`pages: ${took.join(', ')} ms\n`);
  });

  it('finds the oldest of its roots at once by the first words of it', async () => {
    const [project] = await store.projects.list(TENANT, { limit: 1, offset: 0 });
    const search = {
      projectIds: [project?.id ?? ''],
      filters: { filter: parseFilter('search("quartz invoice")') },
    };
    const page = { order: 'descending', limit: 100, fields: [], maxBytes: 1_000_000 } as const;
    const took: number[] = [];
    for (let time = 0; time < 10; time++) {
      const begun = performance.now();
      const found = await store.runs.search(TENANT, search, page);
      took.push(Math.round(performance.now() - begun));
      expect(found.runs.map(({ row }) => row.startTime)).toEqual([BigInt(START) * 1_000n]);
    }
    expect(Math.min(...took)).toBeLessThan(2_000);
    process.stderr.write(`a text of one root of ${RUNS}: ${took.join(', ')} ms\n`);
  });
});
