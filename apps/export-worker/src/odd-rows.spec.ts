import { randomUUID } from 'node:crypto';
import { DuckDBInstance } from '@duckdb/node-api';
import { testPostgres } from '#lib/testing';
import { ExportStand, type SentRun } from '../testdata/export-stand.js';

const postgres = testPostgres();
let stand: ExportStand;

beforeAll(async () => {
  stand = await ExportStand.start((await postgres.freshDatabase()).uri);
});
afterAll(() => stand.stop());

/** Stores runs in a project of their own, exports a day of it, and answers what DuckDB reads. */
async function exported(
  odd: readonly Partial<SentRun>[],
  sql: string,
  { day = '2026-11-20', formatVersion = 'v2_beta' }: { day?: string; formatVersion?: 'v1' | 'v2_beta' } = {},
): Promise<Record<string, unknown>[]> {
  const runs = odd.map(({ run, ...rest }, n) => ({
    run: { name: String(n), start_time: `${day}T00:00:00.00000${n % 10}Z`, ...run },
    ...rest,
  }));
  const projectId = await stand.ingest(randomUUID(), runs);
  const spec = stand.specOf(projectId, day, { formatVersion });
  expect(await stand.work(spec, randomUUID(), 1).ended).toBe(0);
  const connection = await (await DuckDBInstance.create()).connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const files = `read_parquet('${stand.folderOf(spec)}/**/*.parquet', hive_partitioning = false)`;
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
      [{ run: { run_type: 'llm' }, fields: { outputs: JSON.stringify({ usage_metadata: usage }) } }],
      'SELECT total_tokens::VARCHAR AS t, prompt_tokens::VARCHAR AS p, total_cost::VARCHAR AS c, prompt_cost::VARCHAR AS pc, completion_cost::VARCHAR AS cc FROM FILES',
    );
    expect(rows).toEqual([
      {
        // sums end there, and the project's problems name them
        t: '9007199254740991',
        p: '9007199254740991',
        c: '99999999.9999999900',
        pc: '0.0000000001',
        cc: '0.0000000000',
      },
    ]);
  });

  it('keeps every digit of costs, sent as texts or as numbers', async () => {
    const COSTS = ['99999999.9999999999', '12345678.9012345678', '0.0000000001', '900000.0000000001', '0.1'];
    const rows = await exported(
      [...COSTS, ...COSTS.slice(2)].map((text, n) => {
        const total_cost = n < COSTS.length ? text : Number(text);
        const fields = { outputs: JSON.stringify({ usage_metadata: { total_cost } }) };
        return { run: { run_type: 'llm' }, fields };
      }),
      'SELECT total_cost::VARCHAR AS c FROM FILES ORDER BY name::INT',
    );
    const padded = (text: string): string => text.padEnd(text.indexOf('.') + 11, '0');
    expect(rows.map((row) => row['c'])).toEqual([...COSTS, ...COSTS.slice(2)].map(padded));
  });

  it.each(['v1', 'v2_beta'] as const)('has the tier of its trace in %s', async (formatVersion) => {
    const tiers = ['shortlived', 'longlived', undefined];
    const rows = await exported(
      tiers.map((trace_tier) => ({ run: { trace_tier } })),
      'SELECT trace_tier AS t FROM FILES ORDER BY name::INT',
      { formatVersion },
    );
    expect(rows.map((row) => row['t'])).toEqual(['shortlived', 'longlived', 'longlived']);
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
