import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import type { BulkExportRunSpec } from '#lib/resources';
import { testPostgres, waitFor } from '#lib/testing';
import { formatInstant } from '#lib/time';
import { ExportStand } from '../testdata/export-stand.js';
import { judgement } from '../testdata/judgement.js';

const DAY = '2026-11-20';
const RUNS = 60;
const PER_RUN = 5;
const BOTH = { resources: ['runs', 'feedback'] } as const;
type Row = Readonly<Record<string, unknown>>;

const postgres = testPostgres();
let uri: string;
let stand: ExportStand;
let projectId: string;

beforeAll(async () => {
  ({ uri } = await postgres.freshDatabase());
  stand = await ExportStand.start(uri);
  const ids = Array.from({ length: RUNS }, () => randomUUID());
  projectId = await stand.ingest(
    'judged',
    ids.map((id, n) => ({
      run: {
        id,
        trace_id: id,
        name: n % 2 === 0 ? 'even' : 'odd',
        // the last ones are on the next day; several runs have one time
        start_time: `2026-11-${n < RUNS - 10 ? 20 : 21}T00:00:0${n % 7}Z`,
      },
    })),
  );
  for (const id of ids)
    for (let n = 0; n < PER_RUN; n++) await stand.traces.feedback.create(stand.tenantId, judgement(id, n));
  // of the project itself, and of a run that has not come
  const { runId: _run, ...ofProject } = judgement('', 1);
  await stand.traces.feedback.create(stand.tenantId, { ...ofProject, runId: undefined, projectId });
  await stand.traces.feedback.create(stand.tenantId, { ...judgement(randomUUID(), 1), projectId });
});
afterEach(() => {
  stand.fault = undefined;
});
afterAll(() => stand.stop());

/** Rows read directly from the database, without any program of ours. */
async function stored(name = '%'): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: uri });
  await client.connect();
  try {
    const { rows } = await client.query<Row>(
      `SELECT f.id, f.tenant_id, f.project_id AS session_id, f.trace_id, f.run_id, f.start_time::text, f.key, f.score,
        f.value_json AS value, f.comment, f.correction, f.source_json AS feedback_source, f.config AS feedback_config,
        f.extra, f.is_error AS error, f.extends_retention AS extend_trace_retention, f.comparative_experiment_id,
        f.feedback_group_id, f.created_at::text, f.modified_at::text
      FROM feedback f JOIN runs r ON r.id = f.run_id AND r.project_id = $1
      WHERE r.start_time < '2026-11-21T00:00:00Z' AND r.name LIKE $2 ORDER BY f.start_time, f.id`,
      [projectId, name],
    );
    return rows;
  } finally {
    await client.end();
  }
}

const of = (spec: BulkExportRunSpec, resource: 'runs' | 'feedback'): string =>
  join(stand.folderOf(spec), `tenant_id=${stand.tenantId}/session_id=${projectId}/resource=${resource}`);

/** Rows as DuckDB reads them. */
async function found(spec: BulkExportRunSpec): Promise<readonly Row[]> {
  const connection = await (await DuckDBInstance.create()).connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const files = `read_parquet('${of(spec, 'feedback')}/**/*.parquet', hive_partitioning = false)`;
    const sql = `SELECT * REPLACE (start_time::VARCHAR AS start_time, created_at::VARCHAR AS created_at, modified_at::VARCHAR AS modified_at)
      FROM ${files} ORDER BY start_time, id`;
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

async function manifestOf({ exportId }: BulkExportRunSpec): Promise<Record<string, unknown>> {
  const key = `x/manifests/export_id=${exportId}/runs/${DAY}.json`;
  const bytes = Buffer.concat(await (await stand.store.get(stand.bucket, key)).toArray());
  return JSON.parse(bytes.toString()) as Record<string, unknown>;
}

describe('the feedback of an export', () => {
  it('lies in files of its own, and is exactly that of the runs of the window', async () => {
    const spec = stand.specOf(projectId, DAY, BOTH);
    const uid = randomUUID();
    expect(await stand.work(spec, uid, 1).ended).toBe(0);
    const wanted = await stored();
    expect(wanted).toHaveLength((RUNS - 10) * PER_RUN);
    expect(await found(spec)).toEqual(wanted);
    const record = await stand.traces.exportProgress.find(uid);
    expect(record).toMatchObject({
      state: 'completed',
      rows: RUNS - 10,
      feedbackRows: wanted.length,
      files: 2,
    });
    const [runs, feedback] = await stand.traces.exportProgress.files(uid);
    expect([runs?.resource, feedback?.resource]).toEqual(['runs', 'feedback']);
    expect(await manifestOf(spec)).toMatchObject({
      rows: RUNS - 10,
      bytes: runs?.bytes,
      files: [{ key: runs?.key }],
      feedback: {
        rows: wanted.length,
        bytes: feedback?.bytes,
        files: [
          {
            key: feedback?.key,
            sha256: feedback?.sha256,
            minStartTime: formatInstant(feedback?.minStartTime ?? 0n),
          },
        ],
      },
    });
    expect(feedback?.key).toMatch(/\/resource=feedback\/year=2026\/month=11\/day=20\/part-00002\.parquet$/);
    expect(record?.bytes).toBe((runs?.bytes ?? 0) + (feedback?.bytes ?? 0));
  });

  it('belongs to the runs that meet the filter, whatever columns these have', async () => {
    const spec = stand.specOf(projectId, DAY, { ...BOTH, filter: 'eq(name, "odd")', exportFields: ['name'] });
    expect(await stand.work(spec, randomUUID(), 1).ended).toBe(0);
    const wanted = await stored('odd');
    expect(wanted).toHaveLength(((RUNS - 10) / 2) * PER_RUN);
    expect(await found(spec)).toEqual(wanted);
  });

  it('has lines of JSON where runs have them', async () => {
    const spec = stand.specOf(projectId, DAY, { ...BOTH, format: 'jsonl', compression: 'zstd' });
    expect(await stand.work(spec, randomUUID(), 1).ended).toBe(0);
    const names = readdirSync(of(spec, 'feedback'), { recursive: true, encoding: 'utf8' });
    const [file = ''] = names.filter((name) => name.endsWith('part-00002.jsonl.zst'));
    const lines = zstdDecompressSync(readFileSync(join(of(spec, 'feedback'), file)))
      .toString()
      .trimEnd()
      .split('\n');
    const rows = lines.map((line) => JSON.parse(line) as Row);
    const JSONS = ['value', 'correction', 'feedback_source', 'feedback_config', 'extra'];
    const parsed = (row: Row): Row =>
      Object.fromEntries(
        Object.entries(row)
          .filter(([name]) => !name.endsWith('_at') && name !== 'start_time')
          .map(([name, value]) => [
            name,
            JSONS.includes(name) && value !== null ? (JSON.parse(String(value)) as unknown) : value,
          ]),
      );
    const plain = (row: Row): Row => {
      const { created_at: _created, modified_at: _modified, start_time: _start, ...rest } = row;
      return rest;
    };
    expect(rows.map(plain)).toEqual((await stored()).map(parsed));
  });

  it('stays exact when attempts are killed, before it begins and within it', async () => {
    const spec = stand.specOf(projectId, DAY, BOTH);
    const uid = randomUUID();
    const env = { AGENTPLANE_EXPORT_FILE_ROWS: '40' };
    let attempt = 0;
    // files of runs have the numbers 1 and 2, those of feedback 3 to 9
    for (const held of ['part-00002', 'part-00003', 'part-00005', 'part-00009']) {
      stand.fault = ({ method, key }) =>
        method !== 'GET' && key.includes(held) ? { kind: 'delay', ms: 60_000 } : undefined;
      const worker = stand.work(spec, uid, ++attempt, env);
      await waitFor(async () => (await stand.traces.exportProgress.find(uid))?.intent?.key.includes(held));
      worker.kill('SIGKILL');
      await worker.ended;
    }
    stand.fault = undefined;
    expect(await stand.work(spec, uid, ++attempt, env).ended).toBe(0);
    expect(await found(spec)).toEqual(await stored());
    const files = await stand.traces.exportProgress.files(uid);
    expect(files.map(({ resource, rows }) => `${resource} ${rows}`)).toEqual([
      'runs 40',
      'runs 10',
      ...Array.from({ length: 6 }, () => 'feedback 40'),
      'feedback 10',
    ]);
    expect(await stand.traces.exportProgress.find(uid)).toMatchObject({ rows: RUNS - 10, feedbackRows: 250 });
  });

  it('has an empty part of the manifest where there is none, and no part where it is not wanted', async () => {
    const silent = await stand.ingest('silent', [{ run: { name: 'n', start_time: `${DAY}T00:00:00Z` } }]);
    const spec = stand.specOf(silent, DAY, BOTH);
    expect(await stand.work(spec, randomUUID(), 1).ended).toBe(0);
    expect(await manifestOf(spec)).toMatchObject({ rows: 1, feedback: { rows: 0, bytes: 0, files: [] } });
    const plain = stand.specOf(projectId, DAY);
    expect(await stand.work(plain, randomUUID(), 1).ended).toBe(0);
    expect(await manifestOf(plain)).not.toHaveProperty('feedback');
  });
});
