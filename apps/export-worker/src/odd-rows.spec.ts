import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { startObjectStore, type EmbeddedObjectStore } from '#lib/embedded-object-store';
import type { BulkExportRunSpec } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { WorkerProcess } from '../testdata/worker-process.js';

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const TENANT = randomUUID();
const log = createLogger('test', 'silent');
const postgres = testPostgres();

let uri: string;
let traces: TraceStore;
let folder: string;
let server: EmbeddedObjectStore;

beforeAll(async () => {
  uri = (await postgres.freshDatabase()).uri;
  traces = openTraceStore({ uri, poolSize: 3, log, clock: systemClock });
  await traces.migrate();
  folder = await mkdtemp(join(tmpdir(), 'odd-rows-'));
  server = await startObjectStore({ folder, host: '127.0.0.1', port: 0, log, buckets: ['odd'], ...KEYS });
}, 60_000);
afterAll(async () => {
  await server.stop();
  await traces.close();
  await rm(folder, { recursive: true, force: true });
});

interface Odd {
  readonly run?: Record<string, unknown>;
  readonly fields?: Record<string, string>;
}

/** Stores runs in a project of their own, exports a day of it, and answers what DuckDB reads. */
async function exported(
  odd: readonly Odd[],
  sql: string,
  { day = '2026-11-20', formatVersion = 'v2_beta' }: { day?: string; formatVersion?: 'v1' | 'v2_beta' } = {},
): Promise<Record<string, unknown>[]> {
  const name = randomUUID();
  const post = odd.map(({ run, fields = {} }, n) => ({
    run: Buffer.from(
      JSON.stringify({
        ...{ id: randomUUID(), name: String(n), run_type: 'chain', session_name: name },
        ...{ start_time: `${day}T00:00:00.00000${n % 10}Z`, ...run },
      }),
    ),
    fields: Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, Buffer.from(text)])),
  }));
  expect((await traces.ingest(TENANT, { post, patch: [] })).refused).toEqual([]);
  const project = await traces.projects.ensure(TENANT, name);
  const config = {
    bucketName: 'odd',
    prefix: 'x',
    endpointUrl: server.endpoint,
    includeBucketInPrefix: true,
  };
  const spec: BulkExportRunSpec = {
    ...{ exportName: 'e', exportId: randomUUID(), tenantId: TENANT, projectId: project.id },
    ...{ startTime: `${day}T00:00:00Z`, endTime: `${day}T23:59:59.999999Z` },
    ...{ destination: { config }, formatVersion, compression: 'zstd' },
  };
  const worker = new WorkerProcess({
    AGENTPLANE_DATABASE_URI: uri,
    AGENTPLANE_EXPORT_RUN_UID: randomUUID(),
    AGENTPLANE_EXPORT_ATTEMPT: '1',
    AGENTPLANE_EXPORT_SPEC: JSON.stringify(spec),
    AGENTPLANE_STORE_ACCESS_KEY_ID: KEYS.accessKeyId,
    AGENTPLANE_STORE_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
    AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
  });
  expect(await worker.ended).toBe(0);
  const connection = await (await DuckDBInstance.create()).connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const files = `read_parquet('${folder}/odd/x/export_id=${spec.exportId}/**/*.parquet', hive_partitioning = false)`;
    return (await connection.runAndReadAll(sql.replaceAll('FILES', files))).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

describe('an unusual row', () => {
  const PAYLOADS = [
    '"\\u0000"',
    '{"a":1,"a":2,"":3}',
    '1e400',
    '-0.0',
    '12345678901234567890123456789012345678901234567890',
    '['.repeat(127) + ']'.repeat(127),
    '[]',
    '{}',
    '""',
    'false',
    '"\\u2028\u2028 é 😀"',
  ];

  it.each(['v1', 'v2_beta'] as const)('keeps the text of any JSON in %s', async (formatVersion) => {
    const rows = await exported(
      PAYLOADS.map((outputs) => ({ fields: { outputs, inputs: outputs } })),
      'SELECT inputs::VARCHAR AS i, outputs::VARCHAR AS o FROM FILES ORDER BY name::INT',
      { formatVersion },
    );
    expect(rows).toEqual(PAYLOADS.map((text) => ({ i: text, o: text })));
  });

  it('has U+FFFD for halves of characters, and spoils no file', async () => {
    const rows = await exported(
      [{ fields: { inputs: '{"cut \\ud83d":"\\ud83d\\ude00 \\ude00\\ud83d","\\\\ud83d":"\\uD83D\\\\"}' } }],
      'SELECT inputs::VARCHAR AS i FROM FILES',
    );
    expect(rows).toEqual([
      { i: '{"cut \\ufffd":"\\ud83d\\ude00 \\ufffd\\ufffd","\\\\ud83d":"\\ufffd\\\\"}' },
    ]);
  });

  it('keeps text that JSON can only escape', async () => {
    const rows = await exported(
      [
        { run: { tags: ['', 'a\u0000b', '\ud800', '😀', '"\\'] }, fields: { error: '"a\\u0000\\ud800\\n"' } },
        { run: { tags: [] }, fields: { error: '{"a": 1}' } },
      ],
      'SELECT tags, error FROM FILES ORDER BY name',
    );
    expect(rows).toEqual([
      { tags: ['', 'a\uFFFDb', '\uFFFD', '😀', '"\\'], error: 'a\uFFFD\uFFFD\n' },
      { tags: [], error: '{"a": 1}' },
    ]);
  });

  it.each(['0001-01-01', '1969-12-31', '9999-12-31'])('keeps its times on the day %s', async (day) => {
    const start_time = `${day}T23:59:59.999998Z`;
    const rows = await exported(
      [
        { run: { start_time, end_time: '0001-01-01T00:00:00Z' } },
        { run: { start_time, end_time: '9999-12-31T23:59:59.999999Z' } },
      ],
      `SELECT strftime(start_time, '%Y-%m-%dT%H:%M:%S.%f') AS s, strftime(end_time, '%Y-%m-%dT%H:%M:%S.%f') AS e FROM FILES ORDER BY name`,
      { day },
    );
    expect(rows).toEqual([
      { s: `${day}T23:59:59.999998`, e: '0001-01-01T00:00:00.000000' },
      { s: `${day}T23:59:59.999998`, e: '9999-12-31T23:59:59.999999' },
    ]);
  });

  it('exports a row whose optional fields are all absent as nulls', async () => {
    const rows = await exported(
      [{}, {}],
      `SELECT count(*)::INT AS n, count(end_time)::INT AS e, count(total_tokens)::INT AS t, count(total_cost)::INT AS c,
        count(inputs)::INT AS i, count(feedback_stats)::INT AS f, count(error)::INT AS x, count(tags)::INT AS g FROM FILES`,
    );
    expect(rows).toEqual([{ n: 2, e: 0, t: 0, c: 0, i: 0, f: 0, x: 0, g: 2 }]);
  });

  it('keeps the largest numbers', async () => {
    const usage = {
      input_tokens: 9_007_199_254_740_991,
      output_tokens: 9_007_199_254_740_991,
      total_cost: 99_999_999.99999999,
      input_cost: 1e-10,
      output_cost: '0.00000000004',
    };
    const rows = await exported(
      [{ fields: { outputs: JSON.stringify({ usage_metadata: usage }) } }],
      'SELECT total_tokens::VARCHAR AS t, prompt_tokens::VARCHAR AS p, total_cost::VARCHAR AS c, prompt_cost::VARCHAR AS pc, completion_cost::VARCHAR AS cc FROM FILES',
    );
    expect(rows).toEqual([
      {
        // sums end there, and the project's problems name them
        t: '9007199254740991',
        p: '9007199254740991',
        c: '99999999.9999999851',
        pc: '0.0000000001',
        cc: '0.0000000000',
      },
    ]);
  });

  it('writes bounds that find a row beside texts too long for bounds', async () => {
    const long = 'é'.repeat(4000);
    const rows = await exported(
      [{ run: { name: long, run_type: 'a' } }, { run: { name: 'short' } }, { run: { name: '\u{10FFFF}' } }],
      `SELECT count(*)::INT AS n FROM FILES WHERE name >= 'é' OR name = 'short'`,
    );
    expect(rows).toEqual([{ n: 3 }]);
  });
});
