import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import {
  type Credentials,
  newDataFolder,
  type Platform,
  removeDataFolder,
  startPlatform,
} from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';

/** A Python with the packages of `install-python.sh FOLDER requirements-catalogue.txt`. */
const PYTHON = process.env.AGENTPLANE_CATALOGUE_PYTHON ?? 'python3';
const PROJECT = 'traces of shops';
const READERS = ['duckdb', 'clickhouse', 'spark', 'pyiceberg with a token', 'pyiceberg with a secret'];
const hasReaders =
  spawnSync(PYTHON, ['-c', 'import chdb, duckdb, pyiceberg, pyspark, duckdb_extension_iceberg, s3fs'])
    .status === 0;

/** Answers of each reader to statements over the view `t`. */
async function ask(
  { restUrl, apiKey, objectStore }: Credentials,
  bucket: string,
  table: string,
  questions: Readonly<Record<string, string>>,
): Promise<readonly object[]> {
  const { endpoint, accessKeyId, secretAccessKey } = objectStore;
  const { stdout } = await promisify(execFile)(PYTHON, [
    join(import.meta.dirname, 'iceberg_catalogue.py'),
    ...[
      restUrl,
      apiKey,
      endpoint,
      accessKeyId,
      secretAccessKey,
      bucket,
      PROJECT,
      table,
      JSON.stringify(questions),
    ],
  ]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
}

/** Sends a run at each half past of a day. */
async function sendDay(rest: Rest, day: string): Promise<void> {
  for (let hour = 0; hour < 24; hour++) {
    const start = `${day}T${String(hour).padStart(2, '0')}:30:00Z`;
    const usage = { input_tokens: hour, output_tokens: 1, total_tokens: hour + 1 };
    const sent = await rest.post('/runs', {
      id: randomUUID(),
      name: `r${hour % 2}`,
      run_type: hour % 3 === 0 ? 'chain' : 'llm',
      session_name: PROJECT,
      start_time: start,
      end_time: start.replace(':30:00', ':30:02'),
      tags: hour % 4 === 0 ? ['fourth'] : [],
      inputs: { hour },
      outputs: { usage_metadata: usage },
      ...(hour % 8 === 0 ? { error: `é ${hour}` } : {}),
    });
    expect(sent.status).toBe(202);
  }
}

(hasReaders ? describe : describe.skip)('the catalogue of tables', () => {
  const platform = sharedPlatform();

  beforeAll(async () => {
    await sendDay(new Rest(platform.credentials), '2026-11-20');
    const window = ['--from', '2026-11-20', '--to', '2026-11-21'];
    const words = ['lake', '--project', PROJECT, ...window, '--table', 'iceberg', '--wait'];
    const made = await agentplane(['export', 'create', ...words, '--data', platform.dataFolder]);
    expect([made.code, made.complaint]).toEqual([0, expect.anything()]);
  });

  it('answers DuckDB, ClickHouse, Spark and PyIceberg alike', async () => {
    const answers = await ask(platform.credentials, platform.credentials.objectStore.bucket, 'lake', {
      rows: 'SELECT count(*) FROM t',
      tokens: 'SELECT sum(total_tokens)::BIGINT FROM t',
      names: "SELECT string_agg(DISTINCT name, ',' ORDER BY name) FROM t",
    });
    // every third run is a chain, whose usage does not count
    expect(answers).toEqual(READERS.map((reader) => ({ reader, rows: 24, tokens: 208, names: 'r0,r1' })));
  });
});

interface FoundRun {
  readonly id: string;
  readonly name: string;
  readonly run_type: string;
  readonly status: string;
  readonly start_time: string;
  readonly total_tokens: number;
  readonly tags: readonly string[];
  readonly error: string | null;
  readonly inputs: { readonly hour: number };
}

(hasReaders ? describe : describe.skip)('the table of sealed days', () => {
  const DAY_MS = 86_400_000;
  const dataFolder = newDataFolder();
  const day = new Date(Date.now() - 7 * DAY_MS).toISOString().slice(0, 10);
  let platform: Platform;
  let runs: readonly FoundRun[];

  beforeAll(async () => {
    const environment = { AGENTPLANE_LAKE_QUIET_HOURS: '0' };
    platform = await startPlatform(dataFolder, { environment });
    const rest = new Rest(platform.credentials);
    await sendDay(rest, day);
    await waitFor(
      async () => {
        const { body } = await rest.get<{
          readonly days: readonly { readonly sealed_rows: number; readonly postgres_rows: number }[];
          readonly tables: readonly { readonly version: number; readonly behind_since: string | null }[];
        }>('/api/v1/lake');
        const isSealed = body.days.some((one) => one.sealed_rows === 24 && one.postgres_rows === 0);
        return isSealed && body.tables[0]?.behind_since === null;
      },
      { what: 'the table of the sealed day' },
    );
    const { body: projects } = await rest.get<{ readonly id: string }[]>(
      `/sessions?name=${encodeURIComponent(PROJECT)}`,
    );
    const query = { session: [projects[0]?.id], limit: 100, start_time: `${day}T00:00:00Z` };
    runs = (await rest.post<{ readonly runs: FoundRun[] }>('/runs/query', query)).body.runs;
    expect(runs).toHaveLength(24);
  });
  afterAll(async () => {
    await platform.stop();
    removeDataFolder(dataFolder);
  });

  it('answers DuckDB, ClickHouse, Spark and PyIceberg as REST does', async () => {
    const inOrder = [...runs].sort((a, b) => (a.start_time < b.start_time ? -1 : 1));
    const tokens = (some: readonly FoundRun[]): number =>
      some.reduce((sum, run) => sum + run.total_tokens, 0);
    const noon = `${day}T12:00:00`;
    const questions: Readonly<Record<string, readonly [sql: string, answer: unknown]>> = {
      rows: ['SELECT count(*) FROM t', runs.length],
      ids: ["SELECT string_agg(id, ',' ORDER BY start_time) FROM t", inOrder.map(({ id }) => id).join()],
      distinct: ['SELECT count(DISTINCT id) FROM t', runs.length],
      failed: ["SELECT count(*) FROM t WHERE status = 'error'", runs.filter((one) => one.error).length],
      errors: [
        "SELECT string_agg(error, ',' ORDER BY start_time) FROM t",
        inOrder.flatMap(({ error }) => error ?? []).join(),
      ],
      llm: [
        "SELECT count(*) FROM t WHERE run_type = 'llm'",
        runs.filter((one) => one.run_type === 'llm').length,
      ],
      tokens: ['SELECT sum(total_tokens)::BIGINT FROM t', tokens(runs)],
      'tokens of r1': [
        "SELECT sum(total_tokens)::BIGINT FROM t WHERE name = 'r1'",
        tokens(runs.filter(({ name }) => name === 'r1')),
      ],
      afternoon: [
        `SELECT count(*) FROM t WHERE start_time >= TIMESTAMPTZ '${noon}+00'`,
        runs.filter((one) => one.start_time >= noon).length,
      ],
      tagged: [
        "SELECT count(*) FROM t WHERE list_contains(tags, 'fourth')",
        runs.filter(({ tags }) => tags.includes('fourth')).length,
      ],
      inputs: [
        "SELECT string_agg(json_extract_string(inputs, '$.hour'), ',' ORDER BY start_time) FROM t",
        inOrder.map(({ inputs }) => inputs.hour).join(),
      ],
      first: [
        "SELECT strftime(min(start_time), '%Y-%m-%dT%H:%M:%S') FROM t",
        inOrder[0]?.start_time.slice(0, 19),
      ],
      roots: ['SELECT count(*) FROM t WHERE is_root', runs.length],
      none: ['SELECT count(*) FROM t WHERE serialized IS NOT NULL', 0],
    };
    const entries = Object.entries(questions);
    const statements = Object.fromEntries(entries.map(([name, [sql]]) => [name, sql]));
    const expected = Object.fromEntries(entries.map(([name, [, answer]]) => [name, answer]));
    expect(await ask(platform.credentials, 'agentplane-attachments', 'runs', statements)).toEqual(
      READERS.map((reader) => ({ reader, ...expected })),
    );
  });
});
