import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PublicError } from '#lib/errors';
import { parseFilter } from '#lib/filter-language';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { parseInstant, systemClock } from '#lib/time';
import { exportFiles } from '../../testdata/export-file.js';
import { randomRuns } from '../../testdata/random-filters.js';
import { prepareTables, storeRuns } from '../../testdata/store-runs.js';
import { sealRuns } from '../../testdata/seal-runs.js';
import { testLake } from '../../testdata/test-lake.js';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import { countLate, countRows } from '../export/count-rows.js';
import type { ExportRead, ExportRows } from '../export/export-source.js';
import { PostgresExportSource } from '../export/postgres-export-source.js';
import type { RunFilters } from '../filter/payload-filters.js';
import { searchRuns } from '../query/search-runs.js';
import type { RunCursor, RunSearch } from '../query/run-search.js';
import { PostgresPayloadStore } from '../run/payload-store.js';
import { statisticsOfRuns } from '../summary/read-statistics.js';
import { readThreads } from '../thread/read-threads.js';
import { SealedLoader, type SealedLimits } from './sealed-loader.js';
import { SegmentReader } from './segment-reader.js';

const RUNS = 120;
const test = testLake();
const db = testTraceStore();
let payloads: PostgresPayloadStore;

const at = (text: string) => parseInstant(text, { zone: 'required' }) ?? 0n;
const TIMES = { startTime: at('2025-01-01T00:00:00Z'), endTime: at('2027-01-01T00:00:00Z') };

const FILTERS: readonly string[] = [
  'search("a")',
  'search(inputs, "k")',
  'not(search(outputs, "b"))',
  'eq(error, "a")',
  'eq(error, null)',
  'neq(error, null)',
  'exists(metadata, "env")',
  'and(eq(run_type, "llm"), not(exists(metadata, "k")))',
  'and(eq(input_key, "k"), like(input_value, "a%"))',
  'or(eq(run_type, "tool"), neq(output_value, "b"))',
  'eq(run_type, "chain")',
];
const OF_TRACES: readonly RunFilters[] = [
  { traceFilter: parseFilter('search(inputs, "k")') },
  { treeFilter: parseFilter('eq(error, "b")') },
  { filter: parseFilter('eq(run_type, "llm")'), treeFilter: parseFilter('exists(metadata, "env")') },
];

let pool: Pool;
let tenantId: string;
let projectId: string;
beforeAll(async () => {
  pool = openPool({
    uri: db.uri,
    applicationName: 'sealed',
    maxConnections: 3,
    log: createLogger('test', 'silent'),
  });
  await prepareTables(pool);
  payloads = new PostgresPayloadStore(new SegmentReader(test.options));
});
afterAll(() => pool.end());
/** Stores runs in a workspace of their own: keys of runs are those of a tenant. */
async function store(): Promise<void> {
  [tenantId, projectId] = [randomUUID(), randomUUID()];
  const runs = randomRuns(RUNS, 20_261_129);
  await storeRuns(
    pool,
    tenantId,
    runs.map((run) => ({ projectId, run: { ...run, feedback: [] } })),
  );
  await pool.query(
    `UPDATE run_payloads SET inputs = '{"long":"' || repeat('ä😀k', 900) || '"}', serialized = '{}'
    WHERE project_id = $1 AND right(id::text, 1) IN ('0', '4')`,
    [projectId],
  );
}

const seal = (isSealed: (place: number) => boolean) =>
  sealRuns(pool, test.options, { tenantId, projectId, isSealed, rowsOfFile: 50 });

function sealedLoader(limits?: Partial<SealedLimits>): SealedLoader {
  return new SealedLoader(new SegmentReader(test.options), limits);
}

async function idsOf(search: RunSearch, sealed: SealedLoader | undefined): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: RunCursor | undefined;
  do {
    const page = { order: 'descending' as const, limit: 13, fields: [], maxBytes: 1 << 20, after };
    const request = { tenantId, search, page };
    const found = await searchRuns(pool, payloads, request, { clock: systemClock, firstPiece: 20, sealed });
    ids.push(...found.runs.map(({ row }) => row.id));
    after = found.next;
  } while (after);
  return ids;
}

async function bytesOf(rows: ExportRows): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of rows.stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

/** Rows of an export, whose payloads come with the statement or from files. */
async function rowsOf(source: PostgresExportSource, read: ExportRead): Promise<unknown> {
  return (await exportFiles(source, read)).rows;
}

/** Answers of every read that may need payloads in SQL. */
async function answersOf(sealed: SealedLoader | undefined, source: PostgresExportSource) {
  const answers: unknown[] = [];
  const all = [...FILTERS.map((text): RunFilters => ({ filter: parseFilter(text) })), ...OF_TRACES];
  for (const filters of all) {
    const search = { projectIds: [projectId], filters };
    const threads = { projectId, filters };
    answers.push(
      filters,
      await idsOf(search, sealed),
      await idsOf({ ...search, traceId: '00000000-0000-4000-8000-000000000003' }, sealed),
      await statisticsOfRuns(pool, tenantId, search, sealed),
      await readThreads(pool, tenantId, threads, { limit: 5, isCounted: true }, sealed),
    );
    if (!filters.filter || filters.treeFilter) continue;
    const window = { tenantId, projectId, ...TIMES, filter: filters.filter };
    answers.push(
      await countRows(pool, window, {}, sealed),
      await countRows(pool, window, { countMs: 1, places: 3, rowsAtPlace: 5 }, sealed).then(() => 'counted'),
      await rowsOf(source, window),
      await rowsOf(source, { ...window, maxRows: 30 }),
      await bytesOf(await source.readFeedback(window)),
    );
  }
  const window = { tenantId, projectId, ...TIMES };
  answers.push(await rowsOf(source, window));
  answers.push(await rowsOf(source, { ...window, maxRows: 100 }));
  answers.push(await rowsOf(source, { ...window, fields: ['outputs', 'error'] }));
  answers.push(await rowsOf(source, { ...window, fields: ['name'] }));
  answers.push(await countLate(pool, [{ ...window, runUid: randomUUID() }], undefined, sealed));
  return answers;
}

describe('every read of days that are sealed one after another', () => {
  let expected: readonly unknown[];
  beforeAll(async () => {
    await store();
    expected = await answersOf(undefined, new PostgresExportSource(pool, payloads));
  });

  it.each([
    { what: 'no run', isSealed: () => false },
    { what: 'half of the runs', isSealed: (place: number) => place % 2 === 0 },
    { what: 'every run', isSealed: () => true },
  ])('answers the same when $what is sealed', async ({ isSealed }) => {
    await seal(isSealed);
    const sealed = sealedLoader();
    const small = new PostgresExportSource(pool, payloads, undefined, { rowsPerStatement: 37 }, sealed);
    expect(await answersOf(sealed, small)).toEqual(expected);
  });
});

describe('a read of sealed days', () => {
  beforeEach(async () => {
    test.fail(undefined);
    await store();
  });

  it('answers the same while runs are sealed', async () => {
    const window = { tenantId, projectId, ...TIMES };
    const filters = { filter: parseFilter('not(search(outputs, "b"))') };
    const search = { projectIds: [projectId], filters };
    const sealed = sealedLoader();
    const small = { rowsPerStatement: 37 };
    const source = new PostgresExportSource(pool, payloads, undefined, small, sealed);
    const read = async () => [
      await idsOf(search, sealed),
      await statisticsOfRuns(pool, tenantId, search, sealed),
      await rowsOf(source, { ...window, ...filters }),
      await rowsOf(source, window),
    ];
    const expected = await read();
    await seal((place) => place === 0);
    let isSealing = true;
    const sealing = (async () => {
      for (let n = 0; n < 12; n++) await seal((place) => place % 12 === 11 - n);
    })().finally(() => (isSealing = false));
    let times = 0;
    for (; isSealing; times++) expect(await read()).toEqual(expected);
    await sealing;
    expect(times).toBeGreaterThan(0);
    expect(await read()).toEqual(expected);
  });

  it('takes smaller pieces where payloads are many', async () => {
    const window = { tenantId, projectId, ...TIMES, filter: parseFilter('search(inputs, "k")') };
    const plain = new PostgresExportSource(pool, payloads);
    const search = { projectIds: [projectId], filters: { filter: window.filter } };
    const ids = await idsOf(search, undefined);
    const rows = await rowsOf(plain, window);
    await seal(() => true);
    for (const limits of [{ mostRows: 10 }, { mostBytes: 20_000 }]) {
      const sealed = sealedLoader(limits);
      const source = new PostgresExportSource(pool, payloads, undefined, {}, sealed);
      expect(await idsOf(search, sealed)).toEqual(ids);
      expect(await rowsOf(source, window)).toEqual(rows);
    }
    const one = new PostgresExportSource(pool, payloads, undefined, {}, sealedLoader({ mostBytes: 1 }));
    expect(await rowsOf(one, { ...window, maxRows: 3 })).toEqual(rows);
  });

  it('refuses more payloads than one request may load', async () => {
    await seal(() => true);
    const sealed = sealedLoader({ mostRows: 1 });
    const filters = { filter: parseFilter('search(inputs, "k")') };
    const refusals = await Promise.all(
      [
        () => statisticsOfRuns(pool, tenantId, { projectIds: [projectId], filters }, sealed),
        () => readThreads(pool, tenantId, { projectId, filters }, { limit: 5 }, sealed),
        () => idsOf({ projectIds: [projectId], ids: [...ids()], filters }, sealed),
      ].map((read) => read().catch((error: unknown) => error)),
    );
    for (const refusal of refusals) {
      expect(refusal).toBeInstanceOf(PublicError);
      expect(refusal).toMatchObject({ code: 'bad_request' });
      expect(String(refusal)).toMatch(
        /\(1 runs, 64 MiB\); \d+ days from 2026-01-01 to 2026-01-\d\d are sealed/,
      );
    }
    const window = { tenantId, projectId, ...TIMES, ...filters };
    expect(await countRows(pool, window, {}, sealed)).toMatchObject({ isExact: false });
  });

  it('fails as unavailable when the store cannot be reached', async () => {
    await seal(() => true);
    test.fail(() => ({ kind: 'error', code: 'SlowDown' }));
    const sealed = sealedLoader();
    const filters = { filter: parseFilter('search(inputs, "k")') };
    const read = statisticsOfRuns(pool, tenantId, { projectIds: [projectId], filters }, sealed);
    await expect(read).rejects.toMatchObject({ code: 'unavailable' });
    const source = new PostgresExportSource(pool, payloads, undefined, {}, sealed);
    const exporting = rowsOf(source, { tenantId, projectId, ...TIMES, ...filters });
    await expect(exporting).rejects.toMatchObject({ code: 'unavailable' });
    test.fail(undefined);
    expect(
      await statisticsOfRuns(pool, tenantId, { projectIds: [projectId], filters }, sealed),
    ).toBeDefined();
  });
});

function* ids(): Generator<string> {
  for (let n = 0; n < RUNS; n++) yield `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}
