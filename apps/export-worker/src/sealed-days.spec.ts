import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetMetadata } from 'hyparquet';
import type { BulkExportRunSpec } from '#lib/resources';
import { testPostgres, waitFor } from '#lib/testing';
import { ExportStand } from '../testdata/export-stand.js';
import type { WorkerProcess } from '../testdata/worker-process.js';

const DAY = '2026-11-20';
/** A whole row group and a short one. */
const ROWS = 10_500;
const WHOLE_GROUP = 10_240;

const postgres = testPostgres();
let stand: ExportStand;
let projectId: string;
/** Ids of the runs in their order. */
let ids: readonly string[];
/** The day as it was exported before it was sealed. */
let before: BulkExportRunSpec;

const timeOf = (n: number): string =>
  new Date(Date.parse(`${DAY}T00:00:00Z`) + Math.floor((n * 86_000_000) / ROWS)).toISOString();

beforeAll(async () => {
  stand = await ExportStand.start((await postgres.freshDatabase()).uri);
  ids = Array.from({ length: ROWS }, () => randomUUID());
  for (let from = 0; from < ROWS; from += 1_000) {
    const some = ids.slice(from, from + 1_000).map((id, k) => {
      const [n, text] = [from + k, `passage ${(from + k) % 97} `.repeat(20)];
      const fields = {
        inputs: JSON.stringify({ n, text }),
        ...(n % 3 === 0 ? {} : { outputs: JSON.stringify({ n, answer: text.length }) }),
        ...(n % 50 === 0 ? { error: JSON.stringify(`failed ${n}`) } : {}),
      };
      return { run: { id, trace_id: id, name: `run ${n % 9}`, start_time: timeOf(n) }, fields };
    });
    projectId = await stand.ingest('sealed', some);
  }
  before = specOf();
  expect((await exported(before)).copied).toBe(0);
  expect(await stand.seal()).toBe(ROWS);
});
afterEach(() => {
  stand.fault = undefined;
});
afterAll(() => stand.stop());

const specOf = (change: Partial<BulkExportRunSpec> = {}) => stand.specOf(projectId, DAY, change);

function copiedBy(worker: WorkerProcess): number {
  return worker.log.reduce((sum, { copiedBytes = 0 }) => sum + Number(copiedBytes), 0);
}

/** One attempt. @returns bytes that it copied */
async function exported(spec: BulkExportRunSpec, env: Readonly<Record<string, string>> = {}) {
  const worker = stand.work(spec, randomUUID(), 1, env);
  expect(await worker.ended).toBe(0);
  return { copied: copiedBy(worker) };
}

/** Answer of DuckDB; FILES are those of an export. */
async function query(sql: string, specs: Readonly<Record<string, BulkExportRunSpec>>) {
  const connection = await (await DuckDBInstance.create()).connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const text = Object.entries(specs).reduce((all, [name, spec]) => {
      const files = `'${stand.folderOf(spec)}/**/*.${spec.format}*'`;
      const reader =
        spec.format === 'parquet'
          ? `read_parquet(${files}, hive_partitioning = false)`
          : `read_ndjson_objects(${files})`;
      return all.replaceAll(name, reader);
    }, sql);
    return (await connection.runAndReadAll(text)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

/** Rows that one of two exports has and the other has not. */
async function differences(one: BulkExportRunSpec, other: BulkExportRunSpec, columns = '*') {
  const [first, second] = [`SELECT ${columns} FROM FIRST`, `SELECT ${columns} FROM SECOND`];
  return query(`(${first} EXCEPT ALL ${second}) UNION ALL (${second} EXCEPT ALL ${first}) LIMIT 5`, {
    FIRST: one,
    SECOND: other,
  });
}

describe('an export of a sealed day', () => {
  it('copies row groups, and has the rows of the day before it was sealed, in their order', async () => {
    const spec = specOf();
    expect((await exported(spec)).copied).toBeGreaterThan(10_000);
    expect(await differences(before, spec)).toEqual([]);
    const order = 'SELECT id FROM FILES';
    const found = await query(order, { FILES: spec });
    expect(found).toEqual(await query(order, { FILES: before }));
    expect(found.map(({ id }) => id)).toEqual(ids);
  });

  it.each<[string, Partial<BulkExportRunSpec>]>([
    ['gzip', { compression: 'gzip' }],
    ['pages of a chosen size', { pageBytes: 1 << 20 }],
  ])('has the same rows with %s, which cannot be copied', async (_what, change) => {
    const spec = specOf(change);
    expect((await exported(spec)).copied).toBe(0);
    expect(await differences(before, spec)).toEqual([]);
  });

  it('has the same rows as lines of JSON', async () => {
    const spec = specOf({ format: 'jsonl' });
    expect((await exported(spec)).copied).toBe(0);
    const sums = `count(*)::INT AS rows, sum((inputs->>'n')::BIGINT)::VARCHAR AS inputs, sum((outputs->>'n')::BIGINT)::VARCHAR AS outputs`;
    const lines = `SELECT json->'inputs' AS inputs, json->'outputs' AS outputs FROM FILES`;
    expect(await query(`SELECT ${sums} FROM (${lines})`, { FILES: spec })).toEqual(
      await query(`SELECT ${sums} FROM FILES`, { FILES: before }),
    );
  });

  it('copies the chosen payloads alone', async () => {
    const spec = specOf({ exportFields: ['name', 'outputs', 'error'], formatVersion: 'v1' });
    expect((await exported(spec)).copied).toBeGreaterThan(1_000);
    expect(await differences(before, spec, 'name, outputs, error')).toEqual([]);
    const light = specOf({ exportFields: ['name'] });
    expect((await exported(light)).copied).toBe(0);
    expect(await differences(before, light, 'name')).toEqual([]);
  });

  it('has every row once in files of any size', async () => {
    for (const [limit, value] of [
      ['BYTES', '1000'],
      ['ROWS', String(WHOLE_GROUP)],
      ['ROWS', '4000'],
    ]) {
      const spec = specOf();
      await exported(spec, { [`AGENTPLANE_EXPORT_FILE_${limit}`]: value ?? '' });
      expect(readdirSync(stand.folderOf(spec), { recursive: true }).join()).toContain('part-00002');
      expect(await differences(before, spec)).toEqual([]);
    }
  });

  it('has every row once however attempts are killed', async () => {
    const [spec, uid] = [specOf(), randomUUID()];
    const env = { AGENTPLANE_EXPORT_FILE_ROWS: String(WHOLE_GROUP) };
    let copied = 0;
    const steps = ['uploads', 'partNumber', 'uploadId'];
    for (const [at, step] of steps.entries()) {
      let isReached = false;
      stand.fault = ({ bucket, query: words }) => {
        if (bucket !== stand.bucket || !words.has(step)) return undefined;
        isReached = true;
        return { kind: 'delay', ms: 30_000 };
      };
      const worker = stand.work(spec, uid, at + 1, env);
      await waitFor(() => isReached);
      worker.kill('SIGKILL');
      expect(await worker.ended).toBe('SIGKILL');
    }
    stand.fault = undefined;
    const last = stand.work(spec, uid, steps.length + 1, env);
    expect(await last.ended).toBe(0);
    copied += copiedBy(last);
    expect(copied).toBeGreaterThan(0);
    expect(await differences(before, spec)).toEqual([]);
  });

  it('fails with the segment of a damaged page, and writes no file', async () => {
    const [name = ''] = readdirSync(stand.lakeFolder, { recursive: true, encoding: 'utf8' }).filter((one) =>
      one.endsWith('.parquet'),
    );
    const file = join(stand.lakeFolder, name);
    const whole = readFileSync(file);
    const damaged = Buffer.from(whole);
    const [group] = parquetMetadata(new Uint8Array(whole).buffer).row_groups;
    const inputs = group?.columns.find(({ meta_data: data }) => data?.path_in_schema[0] === 'inputs');
    const at = Number(inputs?.meta_data?.data_page_offset) + 1_000;
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    writeFileSync(file, damaged);
    try {
      const [spec, uid] = [specOf(), randomUUID()];
      expect(await stand.work(spec, uid, 1).ended).toBe(75);
      const record = await stand.traces.exportProgress.find(uid);
      expect(record).toMatchObject({ state: 'failed', files: 0 });
      expect(record?.error).toContain('a page does not have its checksum');
      expect(record?.error).toContain(/([0-9a-f-]{36})\.parquet$/.exec(name)?.[1]);
    } finally {
      writeFileSync(file, whole);
    }
  });

  it('reads the payloads of row groups in which a run was changed, erased or added', async () => {
    const { traces, tenantId } = stand;
    const [changed = '', erased = ''] = [ids[100], ids[200]];
    const run = Buffer.from(JSON.stringify({ id: changed, trace_id: changed }));
    const fields = { outputs: Buffer.from('{"n":-1}') };
    expect((await traces.ingest(tenantId, { post: [], patch: [{ run, fields }] })).refused).toEqual([]);
    await traces.erasures.erase(tenantId, projectId, { traceIds: [erased], threadIds: [] });
    await stand.ingest('sealed', [{ run: { name: 'late', start_time: timeOf(ROWS - 10) }, fields: {} }]);
    const [spec, read] = [specOf(), specOf({ compression: 'none' })];
    expect((await exported(read)).copied).toBe(0);
    // the whole row group is broken, and the short one by the late run
    expect((await exported(spec)).copied).toBe(0);
    expect(await differences(read, spec)).toEqual([]);
    const others = `id NOT IN ('${changed}', '${erased}') AND name <> 'late'`;
    const rows = (name: string) => `SELECT * FROM ${name} WHERE ${others}`;
    expect(
      await query(`${rows('FIRST')} EXCEPT ALL ${rows('SECOND')} LIMIT 5`, { FIRST: before, SECOND: spec }),
    ).toEqual([]);
    expect(
      await query(
        `SELECT count(*)::INT AS rows, count(*) FILTER (outputs = '{"n":-1}')::INT AS changed,
          count(*) FILTER (name = 'late')::INT AS late, count(*) FILTER (id = '${erased}')::INT AS erased FROM FILES`,
        { FILES: spec },
      ),
    ).toEqual([{ rows: ROWS, changed: 1, late: 1, erased: 0 }]);
  });
});
