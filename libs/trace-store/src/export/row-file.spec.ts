import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { inTransaction, openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { parseInstant } from '#lib/time';
import { exportFiles } from '../../testdata/export-file.js';
import { randomRuns } from '../../testdata/random-filters.js';
import { type SealedShare, sealRuns } from '../../testdata/seal-runs.js';
import { prepareTables, storeRuns } from '../../testdata/store-runs.js';
import { testLake } from '../../testdata/test-lake.js';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import type { ExportRead } from './export-source.js';
import { PostgresExportSource } from './postgres-export-source.js';
import { PostgresPayloadStore } from '../run/payload-store.js';
import type { FilterableRun } from '../../../../test/support/evaluate-filter.js';
import { SegmentReader } from '../lake/segment-reader.js';

const RUNS = 120;
const test = testLake();
const db = testTraceStore();
const at = (text: string) => parseInstant(text, { zone: 'required' }) ?? 0n;
const TIMES = { startTime: at('2025-01-01T00:00:00Z'), endTime: at('2027-01-01T00:00:00Z') };

let pool: Pool;
beforeAll(async () => {
  const log = createLogger('test', 'silent');
  pool = openPool({ uri: db.uri, applicationName: 'row file', maxConnections: 4, log });
  await prepareTables(pool);
});
afterAll(() => pool.end());

let window: ExportRead;
let runs: readonly FilterableRun[];
beforeEach(async () => {
  test.fail(undefined);
  await store();
});

/** Stores runs in a workspace of their own. */
async function store(): Promise<void> {
  const [tenantId, projectId] = [randomUUID(), randomUUID()];
  window = { tenantId, projectId, ...TIMES };
  runs = randomRuns(RUNS, 20_261_130).map((run) => ({ ...run, feedback: [] }));
  await storeRuns(
    pool,
    tenantId,
    runs.map((run) => ({ projectId, run })),
  );
  await pool.query(
    `UPDATE run_payloads SET inputs = '{"long":"' || repeat('ä😀k', 900) || '"}', serialized = '{}'
    WHERE project_id = $1 AND right(id::text, 1) IN ('0', '4')`,
    [projectId],
  );
}

const seal = (share: Partial<SealedShare> = {}) =>
  sealRuns(pool, test.options, { ...window, rowsOfFile: 50, rowGroupRows: 20, ...share });

/** A source whose reads of files are not cached. */
function source(): PostgresExportSource {
  return new PostgresExportSource(pool, new PostgresPayloadStore(new SegmentReader(test.options)));
}

const idsOf = (rows: readonly Readonly<Record<string, unknown>>[]) => rows.map(({ id }) => id);

describe('an export of sealed days', () => {
  it.each([
    { what: 'none', isSealed: () => false, copies: false, compression: 'none' },
    { what: 'every run', isSealed: () => true, copies: true, compression: 'gzip' },
    { what: 'the first half', isSealed: (at: number) => at < RUNS / 2, copies: true, compression: 'snappy' },
    { what: 'every other run', isSealed: (at: number) => at % 2 === 0, copies: false, compression: 'zstd' },
    {
      what: 'all but a few runs',
      isSealed: (at: number) => at % 50 !== 49,
      copies: true,
      compression: 'none',
    },
  ] as const)('has the same rows when $what is sealed', async ({ isSealed, copies, compression }) => {
    const expected = await exportFiles(source(), window);
    expect(expected).toMatchObject({ copiedBytes: 0, groups: [RUNS] });
    await seal({ isSealed });
    const copied = await exportFiles(source(), window);
    expect(copied.rows).toEqual(expected.rows);
    expect(copied.copiedBytes > 0).toBe(copies);
    expect(await exportFiles(source(), window, { compression }, 'read')).toMatchObject({
      rows: expected.rows,
      copiedBytes: 0,
    });
  });

  it('ends its row groups where those of the sealed days end', async () => {
    await seal();
    const { groups, copiedBytes } = await exportFiles(source(), window);
    expect(groups).toEqual([20, 20, 10, 20, 20, 10, 20]);
    const { copiedBytes: fewer } = await exportFiles(source(), { ...window, fields: ['extra', 'error'] });
    expect(fewer).toBeGreaterThan(0);
    expect(fewer).toBeLessThan(copiedBytes);
  });

  it('has the chosen fields, also where these are no payloads', async () => {
    const choices = [
      ['outputs', 'error'],
      ['name'],
      ['feedback_stats'],
      ['inputs', 'feedback_stats', 'tags'],
    ];
    const before = await Promise.all(choices.map((fields) => exportFiles(source(), { ...window, fields })));
    await seal();
    for (const [n, fields] of choices.entries())
      expect((await exportFiles(source(), { ...window, fields })).rows).toEqual(before[n]?.rows);
  });

  it('has the runs that a filter on columns names', async () => {
    const filtered = { ...window, filter: parseFilter('eq(run_type, "llm")') };
    const expected = await exportFiles(source(), filtered);
    expect(expected.rows.length).toBeGreaterThan(20);
    await seal();
    expect((await exportFiles(source(), filtered)).rows).toEqual(expected.rows);
  });

  it('has every row of random days that were sealed, changed and thinned out, in files of any size', async () => {
    const property = fc.asyncProperty(
      fc.record({
        rowsOfFile: fc.integer({ min: 1, max: 60 }),
        rowGroupRows: fc.integer({ min: 1, max: 40 }),
      }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 }),
      fc.uniqueArray(fc.nat({ max: RUNS - 1 }), { maxLength: 4 }),
      fc.uniqueArray(fc.nat({ max: RUNS - 1 }), { maxLength: 4 }),
      fc.record({
        fileBytes: fc.constantFrom(1, 10_000, Infinity),
        rowGroupRows: fc.constantFrom(7, 100, 1_000),
        maxRows: fc.constantFrom(17, 100, 10_000),
      }),
      async (files, lengths, gone, changed, { maxRows, ...options }) => {
        await store();
        const expected = await exportFiles(source(), window);
        // stretches of sealed runs and of others, in turns
        const ends = lengths.map((_length, n) => lengths.slice(0, n + 1).reduce((sum, one) => sum + one, 0));
        const turnOf = (place: number) => ends.filter((end) => end <= place).length;
        await seal({ ...files, isSealed: (place) => turnOf(place) % 2 === 0 });
        await pool.query(`DELETE FROM runs WHERE project_id = $1 AND id = ANY ($2::uuid[])`, [
          window.projectId,
          gone.map((n) => runs[n]?.id),
        ]);
        const replace = { inputs: Buffer.from('"changed"') };
        const changes = changed.flatMap((n) =>
          runs[n] ? [{ place: { ...window, ...runs[n] }, replace, fill: {} }] : [],
        );
        const payloads = new PostgresPayloadStore(new SegmentReader(test.options));
        await inTransaction(pool, (client) => payloads.bringBack(client, changes));
        const isGone = new Set(gone.map((n): unknown => runs[n]?.id));
        const found = await exportFiles(source(), { ...window, maxRows }, options);
        expect(found.rows).toEqual(expected.rows.filter(({ id }) => !isGone.has(id)));
      },
    );
    await fc.assert(property, { numRuns: 5, seed: 20_261_130 });
  });

  it('has the rows of its snapshot while runs are sealed', async () => {
    const expected = await exportFiles(source(), window);
    let isSealing = true;
    const sealing = (async () => {
      for (let n = 0; n < 12; n++) await seal({ isSealed: (place) => place % 12 === 11 - n });
    })().finally(() => (isSealing = false));
    let times = 0;
    for (; isSealing; times++) expect((await exportFiles(source(), window)).rows).toEqual(expected.rows);
    await sealing;
    expect(times).toBeGreaterThan(0);
  });

  it('fails with the segment where a byte of it is flipped, or has what was written', async () => {
    const expected = await exportFiles(source(), window);
    await seal({ rowsOfFile: RUNS });
    const [key = ''] = (await test.keys()).filter((name) => name.includes(window.projectId));
    const { store: objects, bucket } = test.options;
    const whole = Buffer.concat(await (await objects.get(bucket, key)).toArray());
    let refused = 0;
    const flips = Array.from({ length: 24 }, (_flip, n) => Math.floor((n * whole.length) / 24));
    for (const flip of flips) {
      const damaged = Buffer.from(whole);
      damaged[flip] = (damaged[flip] ?? 0) ^ (1 << (flip % 8));
      await objects.put(bucket, key, damaged);
      try {
        expect({ flip, rows: (await exportFiles(source(), window)).rows }).toEqual({
          flip,
          rows: expected.rows,
        });
      } catch (error) {
        refused++;
        expect(String(error)).toContain(`(${key})`);
      }
    }
    expect(refused).toBeGreaterThan(flips.length / 2);
  });

  it('fails with the segment that is missing, or whose store fails', async () => {
    await seal();
    const keys = (await test.keys()).filter((name) => name.includes(window.projectId));
    test.fail(() => ({ kind: 'error', code: 'SlowDown' }));
    await expect(exportFiles(source(), window)).rejects.toMatchObject({ code: 'unavailable' });
    test.fail(undefined);
    const { store: objects, bucket } = test.options;
    await objects.delete(bucket, keys.at(-1) ?? '');
    await expect(exportFiles(source(), window)).rejects.toThrow('the object is missing');
    await expect(exportFiles(source(), window, {}, 'read')).rejects.toThrow('the object is missing');
    const nowhere = new PostgresExportSource(pool, new PostgresPayloadStore());
    await expect(exportFiles(nowhere, window)).rejects.toThrow('configure the object store of the lake');
  });

  it('keeps the order and the cursor of its files', async () => {
    await seal();
    const all = await exportFiles(source(), window);
    const pieces = await exportFiles(source(), { ...window, maxRows: 33 }, { fileBytes: 2_000 });
    expect(pieces.files).toBeGreaterThan(4);
    expect(idsOf(pieces.rows)).toEqual(idsOf(all.rows));
    expect(pieces.copiedBytes).toBeGreaterThan(0);
  });
});
