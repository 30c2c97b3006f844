import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { CopyBinaryReader } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { parseInstant, systemClock } from '#lib/time';
import { openTraceStore, type NewFeedback, type TraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const TENANT = randomUUID();
const at = (text: string) => parseInstant(text, { zone: 'optional' }) ?? 0n;

function judgement(runId: string, more: Partial<NewFeedback>): NewFeedback {
  return {
    id: randomUUID(),
    runId,
    traceId: undefined,
    projectId: undefined,
    startTime: undefined,
    createdAt: undefined,
    key: 'k',
    score: undefined,
    value: undefined,
    correction: undefined,
    comment: undefined,
    source: '{"type":"api"}',
    config: undefined,
    extra: undefined,
    isError: undefined,
    extendsRetention: undefined,
    comparativeExperimentId: undefined,
    feedbackGroupId: undefined,
    place: [],
    ...more,
  };
}

describe('an export of runs with feedback', () => {
  const [judged, silent] = [randomUUID(), randomUUID()];
  let store: TraceStore;
  let uri: string;

  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase(prepareStore));
    store = openTraceStore({ uri, log: createLogger('test', 'error'), clock: systemClock });
    await store.migrate();
    const post = [judged, silent].map((id) => {
      const run = { id, trace_id: id, name: 'r', run_type: 'chain', start_time: '2026-11-20T10:00:00Z' };
      return { run: Buffer.from(JSON.stringify(run)), fields: { inputs: Buffer.from('{}') } };
    });
    expect((await store.ingest(TENANT, { post, patch: [] })).refused).toEqual([]);
  });
  afterAll(() => store.close());

  async function exported(projectId: string): Promise<Record<string, unknown>> {
    const window = { startTime: at('2026-11-20'), endTime: at('2026-11-21') };
    const fields = ['id', 'feedback_stats'];
    const rows = await store.exportSource.read({ tenantId: TENANT, projectId, ...window, fields });
    const reader = new CopyBinaryReader(rows.fields);
    const chunks: Buffer[] = [];
    for await (const chunk of rows.stream) chunks.push(chunk as Buffer);
    reader.push(Buffer.concat(chunks));
    const found: Record<string, unknown> = {};
    const field = (name: string): Buffer | undefined => {
      const index = rows.columns.findIndex((column) => column.name === name);
      const [from = 0, length = -1] = [reader.offsets[index], reader.lengths[index]];
      return length < 0 ? undefined : Buffer.from(reader.bytes.subarray(from, from + length));
    };
    while (reader.next()) {
      const stats = field('feedback_stats');
      const id = field('id')?.toString('hex') ?? '';
      found[id] = stats === undefined ? null : JSON.parse(stats.toString());
    }
    return found;
  }

  it('has statistics as of the export, and null for runs without any', async () => {
    const { id: projectId } = await store.projects.ensure(TENANT, 'default');
    const [hex, other] = [judged, silent].map((id) => id.replaceAll('-', ''));
    expect(await exported(projectId)).toEqual({ [hex ?? '']: null, [other ?? '']: null });
    await store.feedback.create(TENANT, judgement(judged, { score: 0.5 }));
    await store.feedback.create(TENANT, judgement(judged, { score: 1, isError: true, comment: 'é' }));
    await store.feedback.create(TENANT, judgement(judged, { key: 'label', value: '"good"' }));
    await store.feedback.create(TENANT, judgement(randomUUID(), { score: 1 }));
    expect(await exported(projectId)).toEqual({
      [hex ?? '']: {
        k: {
          n: 2,
          avg: 0.75,
          stdev: expect.closeTo(0.3536, 4),
          min: 0.5,
          max: 1,
          errors: 1,
          values: {},
          comments: ['é'],
          sources: ['api'],
          contains_thread_feedback: false,
        },
        label: {
          n: 1,
          avg: null,
          stdev: null,
          min: null,
          max: null,
          errors: 0,
          values: { good: 1 },
          comments: [],
          sources: ['api'],
          contains_thread_feedback: false,
        },
      },
      [other ?? '']: null,
    });
  });

  it('answers for keys with one feedback each what it answers for many', async () => {
    const runs = Array.from({ length: 120 }, () => randomUUID());
    const post = runs.map((id) => {
      const run = { id, trace_id: id, name: 'r', run_type: 'chain', session_name: 'mixed' };
      return { run: Buffer.from(JSON.stringify({ ...run, start_time: '2026-11-20T10:00:00Z' })) };
    });
    await store.ingest(TENANT, { post, patch: [] });
    const { id: projectId } = await store.projects.ensure(TENANT, 'mixed');
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    try {
      await client.query(
        `INSERT INTO feedback (tenant_id, id, project_id, trace_id, run_id, start_time, key, score, value, value_json, comment, source, is_error)
        SELECT $1, gen_random_uuid(), $2, r.id, r.id, '2026-11-20T10:00:00Z', 'key "' || k % (1 + n % 4),
          CASE n % 3 WHEN 0 THEN (n % 7) / 7.0 END, CASE n % 2 WHEN 0 THEN 'la"b\\el ' || repeat('é', (n % 150)::int) END,
          CASE n % 2 WHEN 0 THEN '"la"' ELSE CASE n % 5 WHEN 0 THEN '{"a":1}' END END,
          CASE n % 5 WHEN 1 THEN repeat('c"', (n % 150)::int) END, CASE n % 11 WHEN 1 THEN NULL ELSE 'api' END,
          CASE n % 4 WHEN 1 THEN true WHEN 2 THEN false END
        FROM unnest($3::uuid[]) WITH ORDINALITY r(id, n), generate_series(1, 3) k WHERE k <= 1 + n % 3`,
        [TENANT, projectId, runs],
      );
      const { rows } = await client.query<{ id: string; stats: string }>(
        'SELECT id, feedback_stats($1, $2, id, id) AS stats FROM unnest($3::uuid[]) r(id)',
        [TENANT, projectId, runs],
      );
      const stats = rows.map(({ id, stats }) => [id.replaceAll('-', ''), JSON.parse(stats) as unknown]);
      expect(await exported(projectId)).toEqual(Object.fromEntries(stats));
    } finally {
      await client.end();
    }
  });

  it('finds feedback by its indexes', async () => {
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    try {
      await client.query(
        `INSERT INTO feedback (tenant_id, id, run_id, key, waits_since, created_at)
        SELECT md5((n % 7)::text)::uuid, gen_random_uuid(), md5(n::text)::uuid, 'k', CASE WHEN n % 500 = 0 THEN now() END,
          now() - n * interval '1 second' FROM generate_series(1, 20000) n; ANALYZE feedback`,
      );
      const plan = async (query: string): Promise<string> => {
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${query}`);
        return rows.map((row) => row['QUERY PLAN']).join('\n');
      };
      const tenant = `tenant_id = md5('1')::uuid`;
      const run = `run_id = md5('5')::uuid`;
      expect(await plan(`SELECT * FROM feedback WHERE ${tenant} AND ${run}`)).toContain('feedback_run');
      expect(
        await plan(`SELECT run_id FROM feedback WHERE ${tenant} AND ${run} AND waits_since IS NOT NULL`),
      ).toContain('feedback_waiting');
      expect(
        await plan(`SELECT * FROM feedback WHERE ${tenant} ORDER BY created_at DESC, id DESC LIMIT 100`),
      ).toContain('feedback_created');
    } finally {
      await client.end();
    }
  });
});
