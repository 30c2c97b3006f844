import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { CopyBinaryReader, openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { parseInstant, systemClock } from '#lib/time';
import { openTraceStore } from '../open-trace-store.js';
import { PostgresPayloadStore } from '../run/payload-store.js';
import { column, EXPORT_COLUMNS } from './export-columns.js';
import type { ExportCursor } from './export-progress.js';
import type { ExportRead, ExportRows } from './export-source.js';
import { PostgresExportSource } from './postgres-export-source.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const log = createLogger('test', 'silent');
const TENANT = randomUUID();
const RUNS = 40;

const at = (text: string) => parseInstant(text, { zone: 'optional' }) ?? 0n;

/** A pool that records the texts of the queries on its lent connections. */
function recording(pool: Pool): { pool: Pool; copies: () => number } {
  const texts: string[] = [];
  const recorded = Object.create(pool) as Pool;
  recorded.connect = (async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    const watched = Object.create(client) as typeof client;
    watched.query = ((...given: unknown[]) => {
      const [first] = given;
      texts.push(typeof first === 'string' ? first : (first as { text: string }).text);
      return query(...given);
    }) as typeof client.query;
    watched.release = (broken) => client.release(broken);
    return watched;
  }) as Pool['connect'];
  return { pool: recorded, copies: () => texts.filter((text) => text.startsWith('COPY')).length };
}

async function bytesOf(rows: ExportRows): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of rows.stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Cursors of the rows, in their order. */
async function cursorsOf(rows: ExportRows): Promise<ExportCursor[]> {
  const reader = new CopyBinaryReader(rows.fields);
  const field = (role: keyof ExportCursor) => {
    const index = rows.columns.findIndex(({ cursor }) => cursor === role);
    const from = reader.offsets[index] ?? 0;
    return reader.bytes.subarray(from, from + (reader.lengths[index] ?? 0));
  };
  const uuid = (bytes: Buffer) =>
    bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const cursors: ExportCursor[] = [];
  reader.push(await bytesOf(rows));
  while (reader.next())
    cursors.push({
      startTime: field('startTime').readBigInt64BE() + at('2000-01-01'),
      id: uuid(field('id')),
      traceId: uuid(field('traceId')),
    });
  expect(reader.isFinished).toBe(true);
  return cursors;
}

describe('an export with a filter', () => {
  const postgres = testPostgres();
  let pool: Pool;
  let window: ExportRead;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    pool = openPool({
      uri,
      applicationName: 'exports',
      settings: { timezone: 'UTC', datestyle: 'ISO' },
      log,
    });
    const store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    // over three days; four share a time each, two of these the id too
    const twin = randomUUID();
    const post = Array.from({ length: RUNS }, (_, n) => {
      const start_time = new Date(Date.UTC(2026, 10, 20, 6 * Math.floor(n / 4))).toISOString();
      const id = n === 9 || n === 10 ? twin : randomUUID();
      const run = { id, trace_id: randomUUID(), name: `run ${n % 3}`, run_type: 'chain', start_time };
      return { run: Buffer.from(JSON.stringify(run)), fields: { inputs: Buffer.from(`{"n":${n}}`) } };
    });
    expect((await store.ingest(TENANT, { post, patch: [] })).refused).toEqual([]);
    const projectId = (await store.projects.ensure(TENANT, 'default')).id;
    await store.close();
    const bounds = { startTime: at('2026-11-20'), endTime: at('2026-11-24') };
    window = { tenantId: TENANT, projectId, ...bounds };
    await pool.query(
      `INSERT INTO feedback (tenant_id, id, project_id, trace_id, run_id, start_time, key)
      SELECT tenant_id, gen_random_uuid(), project_id, trace_id, id, start_time, 'k' FROM runs`,
    );
  });
  afterAll(() => pool.end());

  const source = (rowsPerStatement: number, from = pool) =>
    new PostgresExportSource(from, new PostgresPayloadStore(), EXPORT_COLUMNS, { rowsPerStatement });
  const SOME = parseFilter('in(name, ["run 0", "run 2"])');
  const NONE = parseFilter('eq(name, "no such run")');

  it.each([
    ['no row', NONE, 0],
    ['two rows of three', SOME, 27],
  ])(
    'looks at a bounded number of rows with each statement when %s matches',
    async (_name, filter, expected) => {
      const recorded = recording(pool);
      const rows = await source(10, recorded.pool).read({ ...window, filter });
      expect(await cursorsOf(rows)).toHaveLength(expected);
      expect(recorded.copies()).toBeGreaterThanOrEqual(RUNS / 10);
    },
  );

  it.each([
    ['no row', NONE, 0],
    ['two rows of three', SOME, 27],
  ])('reads feedback by bounded statements when %s matches', async (_name, filter, expected) => {
    const recorded = recording(pool);
    const rows = await source(10, recorded.pool).readFeedback({ ...window, filter });
    expect(await cursorsOf(rows)).toHaveLength(expected);
    expect(recorded.copies()).toBeGreaterThanOrEqual(RUNS / 10);
  });

  it('reads feedback from a row on, no more than is asked for', async () => {
    const all = await cursorsOf(await source(7).readFeedback({ ...window, filter: SOME }));
    const [, , after] = all;
    const page = { ...window, filter: SOME, after, maxRows: 9 } as const;
    expect(await cursorsOf(await source(7).readFeedback(page))).toEqual(all.slice(3, 12));
  });

  it('looks at fewer rows after a statement that took long', async () => {
    const recorded = recording(pool);
    const reading = new PostgresExportSource(recorded.pool, new PostgresPayloadStore(), EXPORT_COLUMNS, {
      rowsPerStatement: 20,
      longStatementMs: 0,
    });
    expect(await cursorsOf(await reading.read({ ...window, filter: SOME }))).toHaveLength(27);
    expect(recorded.copies()).toBe(1 + 1 + 15 + 1); // 20, 5, one each, and the end
  });

  it('reads the window with one statement when it has no filter', async () => {
    const recorded = recording(pool);
    expect(await cursorsOf(await source(10, recorded.pool).read(window))).toHaveLength(RUNS);
    expect(recorded.copies()).toBe(1);
  });

  it('sends the same bytes however many rows a statement looks at', async () => {
    const read = { ...window, filter: SOME };
    const whole = await bytesOf(await source(RUNS + 1).read(read));
    for (const rows of [1, 3, RUNS - 1, RUNS])
      expect((await bytesOf(await source(rows).read(read))).equals(whole)).toBe(true);
    const empty = await bytesOf(await source(RUNS + 1).read({ ...window, filter: NONE }));
    expect(await bytesOf(await source(3).read({ ...window, filter: NONE }))).toEqual(empty);
  });

  it.each([1, 3, 100])('continues after any row, in parts of any size, %i rows a time', async (rows) => {
    const read = { ...window, filter: SOME };
    const all = await cursorsOf(await source(RUNS + 1).read(read));
    for (const maxRows of [1, 4, all.length]) {
      const seen: ExportCursor[] = [];
      for (let part: ExportCursor[] | undefined; part === undefined || part.length === maxRows;) {
        const after = seen.at(-1);
        part = await cursorsOf(await source(rows).read({ ...read, maxRows, ...(after ? { after } : {}) }));
        seen.push(...part);
      }
      expect(seen).toEqual(all);
    }
  });

  it('fails with the cause when a statement fails', async () => {
    const failing = column('broken', 'text', {
      sql: `(1 / (extract(hour FROM r.start_time)::int - 18))::text`,
    });
    const broken = new PostgresExportSource(pool, new PostgresPayloadStore(), [...EXPORT_COLUMNS, failing], {
      rowsPerStatement: 5,
    });
    await expect(broken.read({ ...window, filter: SOME }).then(bytesOf)).rejects.toThrow('division by zero');
  });

  it.each([
    ['without a filter', undefined],
    ['with a filter', SOME],
  ])('ends the statement of an abandoned read, %s', async (_name, filter) => {
    const slow = column('slow', 'text', { sql: 'pg_sleep(600)::text' });
    const columns = [...EXPORT_COLUMNS.filter(({ cursor }) => cursor !== undefined), slow];
    // sessions that have read before keep their check
    const uri = pool.options.connectionString ?? '';
    const own = openPool({ uri, applicationName: 'abandoned', log });
    const reading = new PostgresExportSource(own, new PostgresPayloadStore(), columns, {
      connectionCheckMs: 50,
    });
    const active = async () => {
      const { rows } = await pool.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'COPY %pg_sleep%'`,
      );
      return rows.length;
    };
    const { stream } = await reading.read({ ...window, filter });
    stream.resume();
    await waitFor(async () => (await active()) === 1);
    stream.destroy();
    await waitFor(async () => (await active()) === 0);
    await own.end();
  });

  it.each([
    ['checks connections every ten seconds', {}, '10s'],
    ['keeps the check of connections of its server', { client_connection_check_interval: '77ms' }, '77ms'],
  ])('%s', async (_name, settings, expected) => {
    const uri = pool.options.connectionString ?? '';
    const one = openPool({ uri, applicationName: 'one', maxConnections: 1, settings, log });
    await bytesOf(await source(100, one).read({ ...window, filter: NONE }));
    const { rows } = await one.query('SHOW client_connection_check_interval');
    expect(rows).toEqual([{ client_connection_check_interval: expected }]);
    await one.end();
  });
});
