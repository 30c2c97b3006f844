import { createHash, randomUUID } from 'node:crypto';
import { startObjectStore, type EmbeddedObjectStore } from '#lib/embedded-object-store';
import { openObjectStore, type ObjectStore } from '#lib/object-store';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { compareBucket, type VerifiedExport, type VerifiedRun } from './export-bucket.js';

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const BUCKET = 'exports';
const DAY = '2026-11-20';
const folder = temporaryFolder();
const log = createLogger('test', 'silent');

let server: EmbeddedObjectStore;
let store: ObjectStore;
let isWriteOnly = false;

beforeAll(async () => {
  server = await startObjectStore({
    folder,
    host: '127.0.0.1',
    port: 0,
    log,
    buckets: [BUCKET],
    ...KEYS,
    fault: ({ method }) =>
      isWriteOnly && method !== 'PUT' ? { kind: 'error', code: 'AccessDenied' } : undefined,
  });
  store = openObjectStore({ endpoint: server.endpoint, allowPrivateEndpoints: true, ...KEYS });
});
afterEach(() => {
  isWriteOnly = false;
});
afterAll(async () => {
  store.close();
  await server.stop();
});

interface Bucket {
  readonly found: VerifiedExport;
  readonly run: VerifiedRun;
  readonly folder: string;
  readonly manifest: string;
}

/** An export of one day with two files. */
async function exported(): Promise<Bucket> {
  const found: VerifiedExport = {
    id: randomUUID(),
    tenant_id: randomUUID(),
    session_id: randomUUID(),
    format_version: 'v2_beta',
    filter: null,
    rows_exported: 30,
    resources: ['runs', 'feedback'],
    late_runs_of_bulk_export_id: null,
  };
  const path = `x/export_id=${found.id}/tenant_id=${found.tenant_id}/session_id=${found.session_id}/`;
  const base = `${path}resource=runs/year=2026/month=11/day=20/`;
  const files = [];
  for (const [n, rows] of [20, 10].entries()) {
    const body = `file ${n}`;
    const key = `${base}part-0000${n + 1}.parquet`;
    await store.put(BUCKET, key, body);
    files.push({ key, rows, bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') });
  }
  const manifest = `x/manifests/export_id=${found.id}/runs/${DAY}.json`;
  await store.put(BUCKET, manifest, JSON.stringify({ rows: 30, files }));
  const result = { feedback_rows_written: 0, exported_files: files.map(({ key }) => `${BUCKET}/${key}`) };
  const run = {
    start_time: `${DAY}T00:00:00Z`,
    end_time: '2026-11-21T00:00:00Z',
    rows_exported: 30,
    metadata: { result },
  };
  return { found, run, folder: base, manifest };
}

async function compare({ found, run }: Bucket, readsFiles = true): Promise<readonly string[]> {
  const progress = (): void => undefined;
  const place = { bucket: BUCKET, prefix: '/x/' };
  return (await compareBucket(found, [run], place, store, { readsFiles, progress })).differences;
}

describe('comparing a bucket', () => {
  it('finds nothing where all is as it should be, and reports how far it is', async () => {
    const made = await exported();
    const seen: object[] = [];
    const progress = (soFar: object): void => void seen.push(soFar);
    const place = { bucket: BUCKET, prefix: 'x' };
    expect(await compareBucket(made.found, [made.run], place, store, { readsFiles: true, progress })).toEqual(
      { differences: [], notCompared: [] },
    );
    expect(seen.at(-1)).toEqual({ runs: 1, files: 2, bytes: 12 });
  });

  it.each<[string, (made: Bucket) => Promise<unknown>, readonly unknown[]]>([
    [
      'a file of another size',
      ({ folder: base }) => store.put(BUCKET, `${base}part-00001.parquet`, 'file'),
      [expect.stringMatching(/part-00001\.parquet: 4 bytes stored, the manifest names 6$/)],
    ],
    [
      'a file with other bytes',
      ({ folder: base }) => store.put(BUCKET, `${base}part-00002.parquet`, 'FILE 1'),
      [expect.stringMatching(/part-00002\.parquet: its SHA-256 is [0-9a-f]{64}, the manifest names/)],
    ],
    [
      'a file that was deleted',
      ({ folder: base }) => store.delete(BUCKET, `${base}part-00002.parquet`),
      [expect.stringMatching(/part-00002\.parquet: the file does not exist$/)],
    ],
    [
      'an object beside the files',
      ({ folder: base }) => store.put(BUCKET, `${base}part-00003.parquet`, 'x'),
      [expect.stringMatching(/part-00003\.parquet: no manifest names this object$/)],
    ],
    [
      'a manifest with other rows',
      ({ manifest }) => store.put(BUCKET, manifest, '{"rows": 7, "files": []}'),
      [
        expect.stringMatching(/its files have 0 rows, it names 7$/),
        expect.stringMatching(/it names 7 rows, the run of that day reports 30$/),
        expect.stringMatching(
          /does not name exports\/.*part-00001\.parquet, which the run of that day reports$/,
        ),
        expect.stringMatching(
          /does not name exports\/.*part-00002\.parquet, which the run of that day reports$/,
        ),
        'the manifests name 7 rows, the export reports 30',
        expect.stringMatching(/part-00001\.parquet: no manifest/),
        expect.stringMatching(/part-00002\.parquet: no manifest/),
      ],
    ],
    [
      'a file of feedback that was deleted, and one that no manifest names',
      async ({ folder: base, manifest }) => {
        const stored = Buffer.concat(await (await store.get(BUCKET, manifest)).toArray()).toString();
        const contents = JSON.parse(stored) as object;
        const of = (name: string): string => base.replace('resource=runs', 'resource=feedback') + name;
        const feedback = { rows: 4, files: [{ key: of('part-00003.parquet'), rows: 3, bytes: 1 }] };
        await store.put(BUCKET, manifest, JSON.stringify({ ...contents, feedback }));
        await store.put(BUCKET, of('part-00004.parquet'), 'x');
      },
      [
        expect.stringMatching(/resource=feedback.*part-00003\.parquet: the file does not exist$/),
        expect.stringMatching(/its files of feedback have 3 rows, it names 4$/),
        expect.stringMatching(/it names 4 feedback, the run of that day reports 0$/),
        expect.stringMatching(/it names .*part-00003\.parquet, which the run of that day does not report$/),
        expect.stringMatching(/resource=feedback.*part-00004\.parquet: no manifest names this object$/),
      ],
    ],
    [
      'feedback that the manifest of the day lacks',
      ({ run }) => {
        Object.assign(run.metadata.result, { feedback_rows_written: 2 });
        return Promise.resolve();
      },
      [expect.stringMatching(/it names 0 feedback, the run of that day reports 2$/)],
    ],
    [
      'a manifest that names no files',
      ({ manifest }) => store.put(BUCKET, manifest, '{"rows": 30, "files": [{"key": 7}, null]}'),
      expect.arrayContaining([expect.stringMatching(/\.json: the object is not a manifest$/)]) as never,
    ],
    [
      'a name that a terminal would obey',
      ({ manifest }) => {
        const file = { key: 'x\u001b]0;x\u0007\n1 verified', rows: 30, bytes: 1 };
        return store.put(BUCKET, manifest, JSON.stringify({ rows: 30, files: [file] }));
      },
      expect.arrayContaining(['x\\u001b]0;x\\u0007\\n1 verified: the file does not exist']) as never,
    ],
    [
      'a manifest that is too large to be one',
      ({ manifest }) => store.put(BUCKET, manifest, Buffer.alloc(65 * 1024 * 1024, ' ')),
      expect.arrayContaining([
        expect.stringMatching(/\.json: the object has more than 67108864 bytes/),
      ]) as never,
    ],
    [
      'a manifest that is none',
      ({ manifest }) => store.put(BUCKET, manifest, 'no JSON'),
      expect.arrayContaining([expect.stringMatching(/\.json: the object is not a manifest$/)]) as never,
    ],
    [
      'a manifest that was deleted',
      ({ manifest }) => store.delete(BUCKET, manifest),
      expect.arrayContaining([expect.stringMatching(/\.json: the manifest does not exist$/)]) as never,
    ],
  ])('finds %s', async (_name, change, differences) => {
    const made = await exported();
    await change(made);
    expect(await compare(made)).toEqual(differences);
  });

  it('reports a list of files that was not kept', async () => {
    const { found, run } = await exported();
    const archived = { ...run, metadata: { result: { feedback_rows_written: 0, exported_files: [] } } };
    const place = { bucket: BUCKET, prefix: 'x' };
    const progress = (): void => undefined;
    expect(await compareBucket(found, [archived], place, store, { readsFiles: true, progress })).toEqual({
      differences: [],
      notCompared: [
        expect.stringMatching(/\.json with the list of files of its run, which was archived without it$/),
      ],
    });
  });

  it('reads no file where sizes are enough', async () => {
    const made = await exported();
    await store.put(BUCKET, `${made.folder}part-00002.parquet`, 'FILE 1');
    expect(await compare(made, false)).toEqual([]);
  });

  it('fails with a key that may only write', async () => {
    const made = await exported();
    isWriteOnly = true;
    await expect(compare(made)).rejects.toMatchObject({ code: 'AccessDenied' });
  });
});
