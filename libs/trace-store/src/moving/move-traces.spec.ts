import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../index.js';
import { movedTables, moveTraces } from './move-traces.js';

const log = createLogger('test', 'silent');
const [TENANT, OTHER, RUN] = [randomUUID(), randomUUID(), randomUUID()];
const NEW = '2026-11-20T10:00:00.000001Z';
const OLD = '2019-03-04T05:06:07Z';

const run = (over: object) => ({
  run: Buffer.from(
    JSON.stringify({ name: 'r', run_type: 'chain', session_name: 'p', start_time: NEW, ...over }),
  ),
});

describe('a move of traces', () => {
  const opened: { client: pg.Client; store: TraceStore }[] = [];
  // in the order of their registration: stores close before their Postgres does
  afterAll(async () => {
    for (const { client, store } of opened) {
      await client.end();
      await store.close();
    }
  });

  const postgres = testPostgres();
  let source: { uri: string; client: pg.Client; store: TraceStore };
  let key = '';
  let token = '';

  async function database() {
    const { uri } = await postgres.freshDatabase(async (template) => {
      const store = openTraceStore({ uri: template, poolSize: 2, log, clock: systemClock });
      await store.migrate();
      await store.close();
    });
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    const store = openTraceStore({ uri, poolSize: 2, log, clock: systemClock });
    opened.push({ client, store });
    return { uri, client, store };
  }

  /** Every row of the moved tables, in any order. */
  async function contents(client: pg.Client): Promise<Readonly<Record<string, readonly string[]>>> {
    const found: [string, string[]][] = [];
    for (const { name, columns } of await movedTables(client)) {
      const { rows } = await client.query<{ row: string }>(
        `SELECT (SELECT jsonb_object_agg(k, to_jsonb(t) -> k) FROM unnest($1::text[]) k)::text AS row
        FROM ${name} t ORDER BY 1`,
        [columns],
      );
      found.push([name, rows.map(({ row }) => row)]);
    }
    return Object.fromEntries(found);
  }

  beforeAll(async () => {
    source = await database();
    const { store, client } = source;
    ({ key } = await store.apiKeys.mint(TENANT, { name: 'k', scope: 'workspace' }));
    await store.ingest(TENANT, {
      post: [
        run({ id: RUN, trace_id: RUN, tags: ['a'], inputs: { text: 'é' }, extra: { metadata: { m: 1 } } }),
        run({ id: randomUUID(), start_time: OLD, error: 'no' }),
        // a parent that never came, and one that is refused
        run({ id: randomUUID(), trace_id: randomUUID(), parent_run_id: randomUUID() }),
        run({ id: 'wrong' }),
      ],
      patch: [{ run: Buffer.from(JSON.stringify({ id: randomUUID(), end_time: NEW })) }],
    });
    await store.ingest(OTHER, { post: [run({ id: RUN, trace_id: RUN })], patch: [] });
    const asked = { runId: RUN, key: 'k', config: undefined, feedbackId: undefined, seconds: 60, place: [] };
    const [minted] = await store.feedbackTokens.mint(TENANT, [asked]);
    token = minted !== undefined && 'token' in minted ? String(minted.token) : '';
    await store.shares.share(TENANT, { id: RUN });
    await store.datasets.create(TENANT, { name: 'd', dataType: 'kv' });
    await store.prompts.create(TENANT, 'p', { description: '', readme: '', tags: [], isArchived: false });
    const commit = await store.promptCommits.create(TENANT, 'p', { manifest: '{}' });
    await store.promptCommits.tag(TENANT, 'p', 'prod', commit?.id ?? '');
    await client.query(
      `INSERT INTO attachment_objects (tenant_id, id, sha256, size, state) VALUES ($1, $2, '', 1, 'stored')`,
      [TENANT, randomUUID()],
    );
    await client.query(
      `WITH day AS (INSERT INTO lake_days (tenant_id, project_id, day, seen)
        VALUES ($1, $2, '2026-11-20', pg_current_snapshot()))
      INSERT INTO lake_segments (tenant_id, project_id, day, generation, id, key, state)
      VALUES ($1, $2, '2026-11-20', 1, $2, 'lake/file.parquet', 'sealed')`,
      [TENANT, randomUUID()],
    );
  });

  it('copies every row with its ids, there and back', async () => {
    const [target, back] = [await database(), await database()];
    const before = await contents(source.client);
    const filled = Object.values(before).filter((rows) => rows.length > 0);
    expect(filled.length).toBeGreaterThan(10);
    const moved = await moveTraces({ from: source.uri, to: target.uri, log });
    const tenants = [TENANT, OTHER].toSorted();
    expect(moved).toEqual({ rows: filled.flat().length, tenants, attachments: 1, segments: 1 });
    expect(await contents(target.client)).toEqual(before);
    const tables = 'SELECT published_version, behind_since IS NOT NULL AS is_behind FROM lake_tables';
    expect((await target.client.query(tables)).rows).toEqual([{ published_version: 0, is_behind: true }]);
    await moveTraces({ from: target.uri, to: back.uri, log });
    expect(await contents(back.client)).toEqual(before);
  });

  it('refuses databases that an api has open, also one that was started during the copy', async () => {
    const target = await database();
    const before = await contents(target.client);
    const store = openTraceStore({ uri: target.uri, program: 'api', poolSize: 2, log, clock: systemClock });
    await store.databaseTime();
    const refusal = /an api has 1 sessions in the database test_\w+; scale it to 0/;
    await expect(moveTraces({ from: source.uri, to: target.uri, log })).rejects.toThrow(refusal);
    await expect(moveTraces({ from: target.uri, to: source.uri, log })).rejects.toThrow(refusal);
    await store.close();
    let started: Promise<unknown> | undefined;
    const moved = (): void => {
      started ??= target.client.query(`SET application_name = 'agentplane trace store of api'`);
    };
    await expect(moveTraces({ from: source.uri, to: target.uri, log, moved })).rejects.toThrow(refusal);
    expect(await contents(target.client)).toEqual(before);
    await target.client.query(`RESET application_name`);
    await moveTraces({ from: source.uri, to: target.uri, log });
  });

  it('shows the sessions of an api to a role without rights', async () => {
    const { uri, client } = await database();
    const store = openTraceStore({ uri, program: 'api', poolSize: 2, log, clock: systemClock });
    await store.databaseTime();
    await client.query(`CREATE ROLE stranger LOGIN PASSWORD 'p'`);
    const stranger = new pg.Client({
      connectionString: Object.assign(new URL(uri), { username: 'stranger', password: 'p' }).href,
    });
    await stranger.connect();
    const { rows } = await stranger.query(
      `SELECT query, application_name AS name FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE '%of api'`,
    );
    await stranger.end();
    await store.close();
    expect(rows).toEqual([{ query: '<insufficient privilege>', name: 'agentplane trace store of api' }]);
  });

  it('leads to a store that serves its keys and tokens, and takes late parts of runs', async () => {
    const { uri, store, client } = await database();
    const { rows: marks } = await source.client.query<{ last: string }>(
      'SELECT max(changed_in)::text AS last FROM runs',
    );
    const [mark] = marks;
    await moveTraces({ from: source.uri, to: uri, log });
    expect(await store.apiKeys.verify(key)).toMatchObject({ tenantId: TENANT });
    expect(await store.feedbackTokens.find(token)).toMatchObject({ runId: RUN });
    await store.ingest(TENANT, {
      post: [run({ id: randomUUID() })],
      patch: [run({ id: RUN, trace_id: RUN, end_time: '2026-11-20T10:00:01Z' })],
    });
    const { rows } = await client.query(
      `SELECT count(*)::int AS runs, count(end_time)::int AS ended, bool_and(changed_in > $2::xid8) AS marked
      FROM runs WHERE tenant_id = $1`,
      [TENANT, mark?.last],
    );
    expect(rows).toEqual([{ runs: 4, ended: 1, marked: true }]);
  });

  it('adds to other tenants, and refuses to add to its own', async () => {
    const { uri, store, client } = await database();
    const neighbour = randomUUID();
    await store.ingest(neighbour, { post: [run({ id: RUN, trace_id: RUN })], patch: [] });
    await moveTraces({ from: source.uri, to: uri, log });
    const { rows } = await client.query('SELECT DISTINCT tenant_id FROM run_keys');
    expect(rows).toHaveLength(3);
    await expect(moveTraces({ from: source.uri, to: uri, log })).rejects.toThrow(
      /the other database has rows of tenant .* in .*; delete that workspace there/,
    );
  });

  it('stores nothing when one of the last tables fails', async () => {
    const { uri, client } = await database();
    const before = await contents(client);
    await client.query('ALTER TABLE trace_shares ADD CONSTRAINT none CHECK (false) NOT VALID');
    await expect(moveTraces({ from: source.uri, to: uri, log })).rejects.toThrow('none');
    expect(await contents(client)).toEqual(before);
  });

  it('refuses another schema, and a database that gave tokens of its own', async () => {
    const [older, giving] = [await database(), await database()];
    await older.client.query('ALTER TABLE runs DROP COLUMN price_id');
    await expect(moveTraces({ from: source.uri, to: older.uri, log })).rejects.toThrow(
      'table runs is not the same in both databases',
    );
    const neighbour = randomUUID();
    await giving.store.ingest(neighbour, { post: [run({ id: RUN, trace_id: RUN })], patch: [] });
    const asked = { runId: RUN, key: 'k', config: undefined, feedbackId: undefined, seconds: 60, place: [] };
    await giving.store.feedbackTokens.mint(neighbour, [asked]);
    await expect(moveTraces({ from: source.uri, to: giving.uri, log })).rejects.toThrow('tokens of feedback');
  });

  it('waits for a token that is being given, and then refuses the database', async () => {
    const { uri, client } = await database();
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO feedback_tokens (tenant_id, id, hash, run_id, key, expires_at, waits)
      VALUES ($1, $2, '', $3, 'k', now() + interval '1 hour', true)`,
      [randomUUID(), randomUUID(), RUN],
    );
    const failure = moveTraces({ from: source.uri, to: uri, log }).then(
      () => 'moved',
      (error: unknown) => String(error),
    );
    const waits = `SELECT FROM pg_locks WHERE relation = 'feedback_tokens'::regclass AND NOT granted`;
    await waitFor(async () => (await client.query(waits)).rowCount === 1);
    await client.query('COMMIT');
    expect(await failure).toContain('tokens of feedback');
  });

  it('refuses a tenant of the target that has only prices or configurations in the source', async () => {
    const inserts = [
      `INSERT INTO model_prices (tenant_id, id, name, match_pattern, match_path, prompt_cost, completion_cost,
        is_disabled) VALUES ($1, gen_random_uuid(), 'm', 'm', '{}', '0', '0', false)`,
      `INSERT INTO feedback_configs (tenant_id, key, id, config, is_lower_score_better)
        VALUES ($1, 'k', gen_random_uuid(), '{}', false)`,
    ];
    for (const statement of inserts) {
      const [from, to] = [await database(), await database()];
      const tenant = randomUUID();
      await from.client.query(statement, [tenant]);
      await to.store.ingest(tenant, { post: [run({ id: RUN, trace_id: RUN })], patch: [] });
      await expect(moveTraces({ from: from.uri, to: to.uri, log })).rejects.toThrow(
        `the other database has rows of tenant ${tenant} in`,
      );
    }
  });

  it('refuses a column whose name reads as two columns', async () => {
    const [from, to] = [await database(), await database()];
    await from.client.query(`ALTER TABLE trace_shares DROP COLUMN project_id, DROP COLUMN tenant_id,
      ADD COLUMN "project_id uuid, tenant_id" uuid`);
    await expect(moveTraces({ from: from.uri, to: to.uri, log })).rejects.toThrow(
      'table trace_shares is not the same in both databases',
    );
  });

  it('leaves numbers of rows to the target, whatever the source makes of the column', async () => {
    const [from, to] = [await database(), await database()];
    const late = { run: Buffer.from(JSON.stringify({ id: randomUUID(), end_time: NEW })) };
    await from.store.ingest(TENANT, { post: [], patch: [late] });
    await from.client.query(
      'ALTER TABLE run_patches_waiting ALTER seq DROP IDENTITY; UPDATE run_patches_waiting SET seq = 1000',
    );
    await moveTraces({ from: from.uri, to: to.uri, log });
    const { rows } = await to.client.query('SELECT seq::int FROM run_patches_waiting');
    expect(rows).toEqual([{ seq: 1 }]);
  });
});
