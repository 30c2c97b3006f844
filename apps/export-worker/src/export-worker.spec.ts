import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetMetadata } from 'hyparquet';
import { readOffsetIndex } from 'hyparquet/src/indexes.js';
import { startObjectStore, type EmbeddedObjectStore, type FaultHook } from '#lib/embedded-object-store';
import { openObjectStore, type ObjectStore } from '#lib/object-store';
import type { BulkExportRunSpec } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { itLong, testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { WorkerProcess } from '../testdata/worker-process.js';

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const BUCKET = 'exports';
const TENANT = randomUUID();
const DAY = '2026-11-20';
/** More than a row group has. */
const ROWS = 12_000;
const log = createLogger('test', 'silent');

const postgres = testPostgres();
let uri: string;
let traces: TraceStore;
let projectId: string;
let folder: string;
let server: EmbeddedObjectStore;
let store: ObjectStore;
let fault: FaultHook | undefined;
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  uri = (await postgres.freshDatabase()).uri;
  traces = openTraceStore({ uri, poolSize: 3, log, clock: systemClock });
  await traces.migrate();
  await ingest(ROWS);
  projectId = (await traces.projects.ensure(TENANT, 'p')).id;
  folder = await mkdtemp(join(tmpdir(), 'export-worker-'));
  server = await startObjectStore({
    folder,
    host: '127.0.0.1',
    port: 0,
    log,
    buckets: [BUCKET],
    ...KEYS,
    fault: (target) => fault?.(target),
  });
  store = openObjectStore({ endpoint: server.endpoint, allowPrivateEndpoints: true, ...KEYS });
});

afterEach(async () => {
  fault = undefined;
  for (const worker of workers.splice(0)) {
    if (!worker.isRunning) continue;
    // a test that hangs leaves what its workers said
    process.stderr.write(`${JSON.stringify(worker.log)}\n`);
    worker.kill('SIGKILL');
  }
  // some tests refuse the abort of uploads
  for (const left of await readdir(uploads())) await rm(join(uploads(), left), { recursive: true });
});

afterAll(async () => {
  store.close();
  await server.stop();
  await traces.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs of one day, 1 to 4 KB each. */
async function ingest(count: number): Promise<void> {
  const text = randomBytes(30_000).toString('base64');
  for (let from = 0; from < count; from += 1000) {
    const post = Array.from({ length: Math.min(1000, count - from) }, (_, k) => {
      const n = from + k;
      const at = (n * 7919) % 30_000;
      const second = Math.floor((n * 86_400) / count);
      const time = new Date(Date.parse(`${DAY}T00:00:00Z`) + second * 1000).toISOString();
      const id = randomUUID();
      const run = {
        id,
        trace_id: id,
        name: `run ${n % 9}`,
        run_type: 'llm',
        session_name: 'p',
        start_time: time,
        end_time: time,
        tags: ['a', `t${n % 3}`],
      };
      return {
        run: Buffer.from(JSON.stringify(run)),
        fields: {
          inputs: Buffer.from(JSON.stringify({ n, text: text.slice(at, at + 500 + (n % 2500)) })),
          outputs: Buffer.from(JSON.stringify({ n, answer: text.slice(at + 100, at + 600) })),
        },
      };
    });
    const result = await traces.ingest(TENANT, { post, patch: [] });
    if (result.refused.length > 0) throw new Error(JSON.stringify(result.refused[0]));
  }
}

function specOf(change: Partial<BulkExportRunSpec> = {}): BulkExportRunSpec {
  return {
    exportName: 'e',
    exportId: randomUUID(),
    tenantId: TENANT,
    projectId,
    startTime: `${DAY}T00:00:00Z`,
    endTime: '2026-11-21T00:00:00Z',
    destination: {
      config: {
        bucketName: BUCKET,
        prefix: 'x',
        endpointUrl: server.endpoint,
        includeBucketInPrefix: true,
      },
    },
    format: 'parquet',
    formatVersion: 'v2_beta',
    compression: 'zstd',
    ...change,
  };
}

function startWorker(
  spec: BulkExportRunSpec,
  runUid: string,
  attempt: number,
  env: Readonly<Record<string, string>> = {},
): WorkerProcess {
  const worker = new WorkerProcess({
    AGENTPLANE_DATABASE_URI: uri,
    AGENTPLANE_EXPORT_RUN_UID: runUid,
    AGENTPLANE_EXPORT_ATTEMPT: String(attempt),
    AGENTPLANE_EXPORT_SPEC: JSON.stringify(spec),
    AGENTPLANE_STORE_ACCESS_KEY_ID: KEYS.accessKeyId,
    AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
    AGENTPLANE_STORE_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
    ...env,
  });
  workers.push(worker);
  return worker;
}

async function keysOf(spec: BulkExportRunSpec): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(BUCKET, `x/export_id=${spec.exportId}/`)) keys.push(key);
  return keys;
}

const manifestOf = ({ exportId, startTime }: BulkExportRunSpec): string =>
  `x/manifests/export_id=${exportId}/runs/${startTime.slice(0, 10)}.json`;

async function readManifest(spec: BulkExportRunSpec): Promise<unknown> {
  const bytes = Buffer.concat(await (await store.get(BUCKET, manifestOf(spec))).toArray());
  return JSON.parse(bytes.toString());
}

/** Asks DuckDB about all Parquet files of an export, straight from the store's folder. */
async function query(spec: BulkExportRunSpec, sql: string): Promise<Record<string, unknown>[]> {
  const files = `read_parquet('${folder}/${BUCKET}/x/export_id=${spec.exportId}/**/*.parquet', hive_partitioning = false)`;
  const connection = await (await DuckDBInstance.create()).connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return (await connection.runAndReadAll(sql.replaceAll('FILES', files))).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

/** Every row once, in order within each file. */
async function expectEveryRowOnce(spec: BulkExportRunSpec, rows = ROWS): Promise<void> {
  const [sums] = await query(
    spec,
    `SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS ids, sum((inputs->>'n')::BIGINT)::VARCHAR AS sum FROM FILES`,
  );
  expect(sums).toEqual({ rows, ids: rows, sum: String((rows * (rows - 1)) / 2) });
}

const uploads = (): string => join(folder, '.store/uploads', BUCKET);

async function uploadsLeft(): Promise<number> {
  return (await readdir(uploads())).length;
}

describe('an export run', () => {
  it('writes the runs that its filter names, in files of some rows', async () => {
    const spec = specOf({
      filter: 'and(eq(run_type, "llm"), in(name, ["run 4", "run 7"]), has(tags, "t1"))',
    });
    const uid = randomUUID();
    const worker = startWorker(spec, uid, 1, { AGENTPLANE_EXPORT_FILE_ROWS: '1000' });
    expect(await worker.ended).toBe(0);
    // a run has the name of its number modulo 9 and the tag of its number modulo 3
    const wanted = Array.from({ length: ROWS }, (_, n) => n).filter((n) => n % 9 === 4 || n % 9 === 7);
    const [sums] = await query(
      spec,
      `SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS ids, sum((inputs->>'n')::BIGINT)::VARCHAR AS sum FROM FILES`,
    );
    const sum = String(wanted.reduce((total, n) => total + n, 0));
    expect(sums).toEqual({ rows: wanted.length, ids: wanted.length, sum });
    expect(await traces.exportProgress.find(uid)).toMatchObject({ state: 'completed', rows: wanted.length });
  });

  it('ends pages of payloads at the size of its spec', async () => {
    const MIB = 1 << 20;
    const longest: number[] = [];
    for (const change of [{}, { pageBytes: MIB }]) {
      const spec = specOf(change);
      expect(await startWorker(spec, randomUUID(), 1).ended).toBe(0);
      await expectEveryRowOnce(spec);
      const [key = ''] = await keysOf(spec);
      const file = Buffer.concat(await (await store.get(BUCKET, key)).toArray());
      const bytes = new Uint8Array(file).buffer;
      const means = parquetMetadata(bytes).row_groups.map(({ columns }) => {
        const inputs = columns.find(({ meta_data: data }) => data?.path_in_schema[0] === 'inputs');
        const view = new DataView(bytes, Number(inputs?.offset_index_offset));
        const { page_locations: pages } = readOffsetIndex({ view, offset: 0 });
        return Number(inputs?.meta_data?.total_uncompressed_size) / pages.length;
      });
      longest.push(Math.max(...means));
    }
    expect(longest[0]).toBeGreaterThan(2 * MIB);
    // the value that passes the size is still in the page
    expect(longest[1]).toBeLessThan(1.01 * MIB);
  });

  it('writes files, a manifest and its progress', async () => {
    const spec = specOf();
    const uid = randomUUID();
    const worker = startWorker(spec, uid, 1, { AGENTPLANE_EXPORT_FILE_ROWS: '7000' });
    expect(await worker.ended).toBe(0);
    const base = `x/export_id=${spec.exportId}/tenant_id=${TENANT}/session_id=${projectId}/resource=runs/year=2026/month=11/day=20/`;
    expect(await keysOf(spec)).toEqual([`${base}part-00001.parquet`, `${base}part-00002.parquet`]);
    await expectEveryRowOnce(spec);
    const record = await traces.exportProgress.find(uid);
    expect(record).toMatchObject({ state: 'completed', rows: ROWS, files: 2, intent: undefined });
    const manifest = await readManifest(spec);
    const files = await traces.exportProgress.files(uid);
    expect(manifest).toMatchObject({
      exportId: spec.exportId,
      rows: ROWS,
      bytes: record?.bytes,
      files: [
        { rows: 7_000, minStartTime: `${DAY}T00:00:00.000000Z`, bytes: files[0]?.bytes },
        { rows: 5_000, maxStartTime: expect.stringContaining('2026-11-20T23:59:') },
      ],
    });
    for (const { key, bytes, etag, sha256 } of files) {
      expect(await store.stat(BUCKET, key)).toMatchObject({ size: bytes, etag });
      const stored = Buffer.concat(await (await store.get(BUCKET, key)).toArray());
      expect(sha256).toBe(createHash('sha256').update(stored).digest('hex'));
      expect(manifest).toMatchObject({
        files: expect.arrayContaining([expect.objectContaining({ key, sha256 })]),
      });
    }
  });

  it('ends a file with the row group that passes the size', async () => {
    const spec = specOf();
    expect(await startWorker(spec, randomUUID(), 1, { AGENTPLANE_EXPORT_FILE_BYTES: '1000' }).ended).toBe(0);
    const counts = await query(
      spec,
      'SELECT count(*)::INT AS n FROM (SELECT filename FROM read_parquet(FILES_, filename = true)) GROUP BY filename ORDER BY n'.replace(
        'read_parquet(FILES_, filename = true)',
        `read_parquet('${folder}/${BUCKET}/x/export_id=${spec.exportId}/**/*.parquet', filename = true)`,
      ),
    );
    expect(counts).toEqual([{ n: 1_760 }, { n: 10_240 }]);
    await expectEveryRowOnce(spec);
  });

  it('writes chosen fields only, in the one order', async () => {
    const spec = specOf({
      exportFields: ['tags', 'inputs', 'name'],
      formatVersion: 'v1',
      compression: 'gzip',
    });
    expect(await startWorker(spec, randomUUID(), 1).ended).toBe(0);
    const columns = await query(spec, 'DESCRIBE SELECT * FROM FILES');
    expect(columns.map((row) => [row['column_name'], row['column_type']])).toEqual([
      ['name', 'VARCHAR'],
      ['tags', 'VARCHAR'],
      ['inputs', 'VARCHAR'],
    ]);
    expect(await query(spec, 'SELECT DISTINCT tags FROM FILES ORDER BY tags LIMIT 1')).toEqual([
      { tags: '["a","t0"]' },
    ]);
    expect((await keysOf(spec)).every((key) => key.includes('/runs/year=2026/'))).toBe(true);
  });

  it('completes with a manifest and without files when its window has no rows', async () => {
    const spec = specOf({ startTime: '2026-11-21T00:00:00Z', endTime: '2026-11-22T00:00:00Z' });
    const uid = randomUUID();
    expect(await startWorker(spec, uid, 1).ended).toBe(0);
    expect(await traces.exportProgress.find(uid)).toMatchObject({ state: 'completed', rows: 0, files: 0 });
    expect(await keysOf(spec)).toEqual([]);
    expect(await readManifest(spec)).toMatchObject({ rows: 0, bytes: 0, files: [] });
  });

  it('reports its progress while it writes', async () => {
    const spec = specOf();
    const uid = randomUUID();
    fault = ({ query: words }) => (words.has('uploads') ? { kind: 'delay', ms: 2500 } : undefined);
    const worker = startWorker(spec, uid, 1);
    await waitFor(async () => {
      const record = await traces.exportProgress.find(uid);
      return (record?.intent?.soFar?.rows ?? 0) > 0;
    });
    expect(await worker.ended).toBe(0);
    await expectEveryRowOnce(spec);
  });
});

describe('an attempt that fails', () => {
  it.each<
    [string, Partial<BulkExportRunSpec['destination']['config']>, Record<string, string>, number, string]
  >([
    ['because the bucket does not exist', { bucketName: 'nobucket' }, {}, 65, 'NoSuchBucket'],
    [
      'because the secret is wrong',
      {},
      { AGENTPLANE_STORE_SECRET_ACCESS_KEY: 'x' },
      65,
      'SignatureDoesNotMatch',
    ],
    ['because the key is unknown', {}, { AGENTPLANE_STORE_ACCESS_KEY_ID: 'x' }, 65, 'InvalidAccessKeyId'],
    [
      'because its endpoint is not allowed',
      {},
      { AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'false' },
      65,
      'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS=true',
    ],
    ['because no server answers', { endpointUrl: 'http://127.0.0.1:1' }, {}, 75, 'ECONNREFUSED'],
  ])('exits with the cause and whether a retry helps, %s', async (_name, config, env, code, word) => {
    const spec = specOf();
    const uid = randomUUID();
    const destination = { config: { ...spec.destination.config, ...config } };
    const worker = startWorker({ ...spec, destination }, uid, 1, env);
    expect(await worker.ended).toBe(code);
    const record = await traces.exportProgress.find(uid);
    expect(record).toMatchObject({ state: 'failed', attempt: 1, error: expect.stringContaining(word) });
    expect(JSON.stringify(worker.log)).not.toContain(KEYS.secretAccessKey + '"');
  });

  it('leaves no upload behind, and its successor completes', async () => {
    const spec = specOf();
    const uid = randomUUID();
    const rows = { AGENTPLANE_EXPORT_FILE_ROWS: '7000' };
    fault = ({ key, query: words }) =>
      key.endsWith('part-00002.parquet') && words.has('partNumber')
        ? { kind: 'error', code: 'AccessDenied' }
        : undefined;
    expect(await startWorker(spec, uid, 1, rows).ended).toBe(65);
    expect(await traces.exportProgress.find(uid)).toMatchObject({ state: 'failed', rows: 7_000, files: 1 });
    expect(await uploadsLeft()).toBe(0);
    fault = undefined;
    expect(await startWorker(spec, uid, 2, rows).ended).toBe(0);
    await expectEveryRowOnce(spec);
  });

  it('ends as retryable when asked to stop', async () => {
    const spec = specOf();
    const uid = randomUUID();
    fault = ({ query: words }) => (words.has('partNumber') ? { kind: 'delay', ms: 1500 } : undefined);
    const worker = startWorker(spec, uid, 1);
    await waitFor(async () => (await traces.exportProgress.find(uid))?.intent?.uploadId);
    worker.kill('SIGTERM');
    expect(await worker.ended).toBe(75);
    expect(await traces.exportProgress.find(uid)).toMatchObject({ state: 'failed', attempt: 1 });
    expect(await uploadsLeft()).toBe(0);
  });
});

describe('a series of attempts of one run', () => {
  it('ends as retryable when an earlier process of its attempt recorded that it failed', async () => {
    const spec = specOf();
    const uid = randomUUID();
    await traces.exportProgress.claim(uid, 1);
    await traces.exportProgress.fail(uid, 1, 'the program is stopping: parent process ended');
    expect(await startWorker(spec, uid, 1).ended).toBe(75);
    expect(await startWorker(spec, uid, 2).ended).toBe(0);
    await expectEveryRowOnce(spec);
  });

  it('leaves every row exactly once when attempts are killed at any point', async () => {
    const spec = specOf();
    const uid = randomUUID();
    let attempt = 0;
    let kills = 0;
    for (let ended: number | string = 'not yet'; ended !== 0;) {
      const worker = startWorker(spec, uid, ++attempt, { AGENTPLANE_EXPORT_FILE_ROWS: '3000' });
      // the first is killed at work for certain, most others anywhere in what takes about a second
      if (attempt === 1) await waitFor(async () => (await traces.exportProgress.find(uid))?.intent);
      const delay = attempt === 1 ? 0 : attempt < 8 ? 150 + Math.random() * 900 : 60_000;
      const timer = setTimeout(() => worker.kill('SIGKILL'), delay);
      ended = await worker.ended;
      clearTimeout(timer);
      if (ended === 'SIGKILL') kills++;
      else expect(ended).toBe(0);
    }
    expect(kills).toBeGreaterThan(0);
    await expectEveryRowOnce(spec);
    expect(await traces.exportProgress.find(uid)).toMatchObject({
      state: 'completed',
      rows: ROWS,
      files: 4,
    });
  });

  it('adopts a file that was finished but not recorded', async () => {
    const spec = specOf();
    const uid = randomUUID();
    // the answer to the completion is lost and everything after it fails: the object exists, its record does not
    let isCompleted = false;
    fault = ({ method, query: words }) => {
      if (method === 'POST' && words.has('uploadId') && !isCompleted) {
        isCompleted = true;
        return { kind: 'lost-answer' };
      }
      return isCompleted ? { kind: 'error', code: 'AccessDenied' } : undefined;
    };
    expect(await startWorker(spec, uid, 1).ended).toBe(65);
    expect(await traces.exportProgress.find(uid)).toMatchObject({ rows: 0, intent: { rows: ROWS } });
    fault = undefined;
    const puts: string[] = [];
    fault = ({ method, key }) => void (method === 'PUT' && puts.push(key));
    const worker = startWorker(spec, uid, 2);
    expect(await worker.ended).toBe(0);
    expect(puts).toEqual([expect.stringMatching(/^x\/manifests\/export_id=[^/]+\/runs\/2026-11-20\.json$/)]);
    await expectEveryRowOnce(spec);
    expect(await traces.exportProgress.files(uid)).toMatchObject([
      { rows: ROWS, sha256: expect.stringMatching(/^[0-9a-f]{64}$/), minStartTime: expect.anything() },
    ]);
  });

  it.each<'NoSuchUpload' | 'PreconditionFailed'>(['NoSuchUpload', 'PreconditionFailed'])(
    'completes with the right to write alone when the answer to a completion is lost, and the next is %s',
    async (code) => {
      const spec = specOf();
      const uid = randomUUID();
      let completions = 0;
      fault = ({ method, query: words }) => {
        if (method === 'GET' || method === 'HEAD') return { kind: 'error', code: 'AccessDenied' };
        if (method !== 'POST' || !words.has('uploadId')) return undefined;
        completions++;
        if (completions === 1) return { kind: 'lost-answer' };
        return { kind: 'error', code: completions === 2 ? code : 'NoSuchUpload' };
      };
      const worker = startWorker(spec, uid, 1);
      expect(await worker.ended).toBe(0);
      fault = undefined;
      await expectEveryRowOnce(spec);
      const [file] = await traces.exportProgress.files(uid);
      expect(worker.log).toContainEqual(
        expect.objectContaining({ key: file?.key, msg: expect.stringContaining('were not verified') }),
      );
      expect(await store.stat(BUCKET, file?.key ?? '')).toMatchObject({
        size: file?.bytes,
        etag: file?.etag,
      });
      expect(await readManifest(spec)).toMatchObject({ files: [{ key: file?.key, rows: ROWS }] });
    },
  );

  it('repeats the start of an upload that the store was too busy for, within the attempt', async () => {
    const spec = specOf();
    let starts = 0;
    fault = ({ method, query: words }) =>
      method === 'POST' && words.has('uploads') && ++starts <= 3
        ? { kind: 'error', code: 'SlowDown' }
        : undefined;
    expect(await startWorker(spec, randomUUID(), 1).ended).toBe(0);
    expect(starts).toBe(4);
    await expectEveryRowOnce(spec);
  });

  itLong('adopts no other object of the same size, and needs no right to read', async () => {
    for (const canRead of [true, false]) {
      const spec = specOf();
      const uid = randomUUID();
      let isCompleted = false;
      fault = ({ method, query: words }) => {
        if (method === 'POST' && words.has('uploadId') && !isCompleted) {
          isCompleted = true;
          return { kind: 'lost-answer' };
        }
        return isCompleted ? { kind: 'error', code: 'AccessDenied' } : undefined;
      };
      expect(await startWorker(spec, uid, 1).ended).toBe(65);
      const intent = (await traces.exportProgress.find(uid))?.intent;
      fault = undefined;
      await store.put(BUCKET, intent?.key ?? '', Buffer.alloc(intent?.bytes ?? 0));
      fault = ({ method }) =>
        method === 'HEAD' && !canRead ? { kind: 'error', code: 'AccessDenied' } : undefined;
      expect(await startWorker(spec, uid, 2).ended).toBe(0);
      await expectEveryRowOnce(spec);
    }
  });

  it.each<[string, 'AccessDenied' | 'NotImplemented', number, number]>([
    ['after the newer one has', 'AccessDenied', 5000, 0],
    ['before the newer one has', 'NotImplemented', 1000, 3000],
  ])(
    'exports every row once when an upload that cannot be aborted completes late, %s (%s)',
    async (_order, code, completionMs, partMs) => {
      const spec = specOf();
      const uid = randomUUID();
      let isPaused = false;
      fault = ({ method, query: words }) => {
        if (method === 'DELETE') return { kind: 'error', code };
        if (method === 'PUT' && isPaused) return { kind: 'delay', ms: partMs };
        if (method !== 'POST' || !words.has('uploadId') || isPaused) return undefined;
        // the completion is on its way for a while, and who sent it is asleep
        isPaused = true;
        older.kill('SIGSTOP');
        return { kind: 'delay', ms: completionMs };
      };
      const older = startWorker(spec, uid, 1);
      await waitFor(() => isPaused);
      const { key = '' } = (await traces.exportProgress.find(uid))?.intent ?? {};
      // other bytes than the older one's
      const newer = startWorker({ ...spec, compression: 'gzip' }, uid, 2);
      expect(await newer.ended).toBe(0);
      older.kill('SIGCONT');
      expect([0, 65, 75]).toContain(await older.ended);
      const [file] = await traces.exportProgress.files(uid);
      expect(await store.stat(BUCKET, key)).toMatchObject({ size: file?.bytes, etag: file?.etag });
      await expectEveryRowOnce(spec);
    },
  );

  it('completes on a store without conditional writes, and over an existing manifest', async () => {
    fault = ({ headers }) =>
      headers['if-none-match'] === undefined ? undefined : { kind: 'error', code: 'NotImplemented' };
    const spec = specOf();
    expect(await startWorker(spec, randomUUID(), 1).ended).toBe(0);
    await expectEveryRowOnce(spec);
    fault = undefined;
    await store.put(BUCKET, manifestOf(spec), 'of a former attempt');
    expect(await startWorker(spec, randomUUID(), 1).ended).toBe(0);
    expect(await readManifest(spec)).toMatchObject({ rows: ROWS });
  });

  itLong('stops an attempt when a newer one has begun, before it changes anything more', async () => {
    const spec = specOf();
    const uid = randomUUID();
    const env = { AGENTPLANE_EXPORT_FILE_ROWS: '3000' };
    fault = ({ query: words }) => (words.has('partNumber') ? { kind: 'delay', ms: 300 } : undefined);
    const older = startWorker(spec, uid, 1, env);
    await waitFor(async () => ((await traces.exportProgress.find(uid))?.files ?? 0) > 0);
    older.kill('SIGSTOP');
    const newer = startWorker(spec, uid, 2, env);
    expect(await newer.ended).toBe(0);
    const before = await traces.exportProgress.files(uid);
    older.kill('SIGCONT');
    expect([0, 65, 75]).toContain(await older.ended);
    expect(await traces.exportProgress.files(uid)).toEqual(before);
    for (const { key, bytes, etag } of before)
      expect(await store.stat(BUCKET, key)).toMatchObject({ size: bytes, etag });
    await expectEveryRowOnce(spec);
    expect(await uploadsLeft()).toBe(0);
  });

  /**
   * The older of two attempts is held at this request of its own to the store, and continues once the newer
   * has completed.
   * @returns false when it made fewer requests
   */
  async function expectOneWinner(request: number): Promise<boolean> {
    const spec = specOf();
    const uid = randomUUID();
    const env = { AGENTPLANE_EXPORT_FILE_ROWS: '3000' };
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const { promise: reached, resolve: reach } = Promise.withResolvers<'held'>();
    let requests = 0;
    fault = () => {
      if (++requests !== request) return undefined;
      reach('held');
      return { kind: 'hold', until };
    };
    const older = startWorker(spec, uid, 1, env);
    if ((await Promise.race([reached, older.ended])) !== 'held') return false;
    expect(await startWorker(spec, uid, 2, env).ended).toBe(0);
    const files = await traces.exportProgress.files(uid);
    const manifest = await readManifest(spec);
    release();
    expect([0, 65, 75]).toContain(await older.ended);
    expect(await traces.exportProgress.files(uid)).toEqual(files);
    expect(await readManifest(spec)).toEqual(manifest);
    // the newer one's objects as they were, and none of the older one's
    expect((await keysOf(spec)).sort()).toEqual(files.map(({ key }) => key).sort());
    for (const { key, bytes, etag } of files)
      expect(await store.stat(BUCKET, key)).toMatchObject({ size: bytes, etag });
    await expectEveryRowOnce(spec);
    expect(await uploadsLeft()).toBe(0);
    return true;
  }

  itLong('has one winner of two attempts, whose older one goes on late with any request', async () => {
    let request = 1;
    while (await expectOneWinner(request)) request++;
    expect(request).toBeGreaterThan(20);
  });

  it('ends soon after the run was cancelled', async () => {
    const spec = specOf();
    const uid = randomUUID();
    fault = ({ query: words }) => (words.has('partNumber') ? { kind: 'delay', ms: 1000 } : undefined);
    const worker = startWorker(spec, uid, 1, { AGENTPLANE_EXPORT_FILE_ROWS: '3000' });
    await waitFor(async () => (await traces.exportProgress.find(uid))?.intent?.uploadId);
    await traces.exportProgress.cancel(uid);
    expect(await worker.ended).toBe(65);
    expect(await traces.exportProgress.find(uid)).toMatchObject({ state: 'cancelled' });
    expect(await uploadsLeft()).toBe(0);
  });

  it('leaves no manifest of a run whose export was cancelled while it was on its way', async () => {
    const spec = specOf();
    const [uid, exportUid] = [randomUUID(), randomUUID()];
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    fault = ({ method, key }) => {
      if (method !== 'PUT' || key !== manifestOf(spec)) return undefined;
      reach();
      return { kind: 'hold', until };
    };
    const worker = startWorker(spec, uid, 1, { AGENTPLANE_EXPORT_UID: exportUid });
    await reached;
    await traces.exportProgress.cancelExport(exportUid);
    release();
    expect(await worker.ended).toBe(65);
    expect(await traces.exportProgress.find(uid)).toMatchObject({ state: 'cancelled', files: 1 });
    expect(await store.stat(BUCKET, manifestOf(spec))).toBeUndefined();
  });
});
