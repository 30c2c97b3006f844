import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { INSTALLATION } from '#lib/data-folder';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { bringUpSchema } from './machine-database.js';
import { moveDatabase } from './move-database.js';

spawnSync(process.execPath, [join(INSTALLATION, 'bin', 'build.js')]);

const log = createLogger('test', 'silent');
/** Patience passes fast. */
const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() * 20 };
const THREADS = 2_000;

const FILL = `
  INSERT INTO agentplane.thread_ttl_default (strategy, minutes) VALUES ('delete', 5);
  INSERT INTO agentplane.threads (thread_id, metadata, values)
    SELECT md5(i::text)::uuid, '{"a": "é"}', json_build_object('text', repeat('x', 1000), 'nul', E'\\\\u0000')
    FROM generate_series(1, ${THREADS}) i;
  DELETE FROM agentplane.thread_ttls WHERE thread_id = md5('1')::uuid;
  UPDATE agentplane.thread_ttls SET minutes = 7 WHERE thread_id = md5('2')::uuid;
  INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy,
      metadata, kwargs)
    SELECT md5(i::text)::uuid, md5('1')::uuid, false, md5('a')::uuid, 'agent', 'success', 'reject', '{}', '{}'
    FROM generate_series(1, 5) i;
  DELETE FROM agentplane.runs WHERE ordinal = 5;
  INSERT INTO agentplane.webhooks (run_id, thread_id, temporary, metadata, url)
    VALUES (md5('1')::uuid, md5('1')::uuid, false, '{}', 'https://example.com/hook');
  INSERT INTO agentplane.store_items (namespace, key, value) VALUES ('{a,b}', 'k', '{"v": 1}');
  INSERT INTO agentplane.store_vectors (item_id, field, dims, vector) VALUES (1, '$', 2, '{0.6,0.8}');
  INSERT INTO agentplane.assistants (assistant_id, graph_id, name) VALUES (md5('a')::uuid, 'agent', 'mine');
  INSERT INTO agentplane.assistant_versions
    VALUES (md5('a')::uuid, 1, 'agent', 'mine', NULL, '{}', '{}', '{}', now())`;

describe('a move of the database of a deployment', () => {
  const opened: pg.Client[] = [];
  // in the order of their registration: connections end before their Postgres does
  afterAll(async () => {
    await Promise.all(opened.map((client) => client.end()));
  });

  const postgres = testPostgres();
  let from = '';

  async function database(...statements: readonly string[]): Promise<string> {
    const { uri } = await postgres.freshDatabase();
    for (const statement of statements) await ask(uri, statement);
    return uri;
  }

  async function ask(uri: string, statement: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(statement)).rows;
    } finally {
      await client.end();
    }
  }

  /** Template of the databases of sources. */
  async function fill(uri: string): Promise<void> {
    await bringUpSchema(uri);
    await ask(uri, FILL);
  }

  async function filled(...statements: readonly string[]): Promise<string> {
    const { uri } = await postgres.freshDatabase(fill);
    for (const statement of statements) await ask(uri, statement);
    return uri;
  }

  const move = (to: string, source = from) =>
    moveDatabase({ from: source, to, bringUpSchema, clock, log }).then(
      (tables) => tables,
      (error: unknown) => String(error),
    );

  /** Every row of every table that is kept, and the states of sequences. */
  async function contents(uri: string): Promise<unknown> {
    const found: Record<string, unknown> = {};
    const tables = await ask(
      uri,
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'agentplane'::regnamespace AND relkind IN ('r', 'S')
      AND relpersistence = 'p' AND relname <> 'migrations' ORDER BY 1`,
    );
    for (const { name } of tables)
      found[String(name)] = await ask(
        uri,
        `SELECT to_jsonb(t) - 'log_cnt' AS row FROM (SELECT t.*, CASE WHEN false THEN 0 END FROM agentplane.${String(name)} t) t ORDER BY t::text`,
      );
    return found;
  }

  const count = async (uri: string): Promise<unknown> =>
    (await ask(uri, 'SELECT count(*)::int AS count FROM agentplane.threads'))[0]?.['count'];

  beforeAll(async () => {
    from = await filled();
  });

  it('copies every row with its ids, what triggers wrote included, and the next numbers', async () => {
    const to = await database();
    const tables = await move(to);
    expect(tables).toContainEqual({ name: 'threads', rows: THREADS });
    expect(tables).toContainEqual({ name: 'thread_ttls', rows: THREADS - 1 });
    expect(await contents(to)).toEqual(await contents(from));
    await ask(
      to,
      `INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy,
      metadata, kwargs) VALUES (gen_random_uuid(), md5('1')::uuid, false, md5('a')::uuid, 'agent', 'success', 'reject', '{}', '{}')`,
    );
    expect(await ask(to, 'SELECT max(ordinal)::int AS last FROM agentplane.runs')).toEqual([{ last: 6 }]);
    await ask(to, `INSERT INTO agentplane.threads (thread_id) VALUES (md5('new')::uuid)`);
    expect(
      await ask(to, `SELECT minutes FROM agentplane.thread_ttls WHERE thread_id = md5('new')::uuid`),
    ).toEqual([{ minutes: 5 }]);
  });

  it('takes the place of what a server writes at its start, and refuses other rows', async () => {
    const to = await database();
    await bringUpSchema(to);
    await ask(
      to,
      `INSERT INTO agentplane.assistants (assistant_id, graph_id, name, system) VALUES (md5('s')::uuid, 'agent', 'agent', true);
      INSERT INTO agentplane.assistant_versions VALUES (md5('s')::uuid, 1, 'agent', 'agent', NULL, '{}', '{}', '{}', now());
      INSERT INTO agentplane.thread_ttl_default (strategy, minutes) VALUES ('delete', 1)`,
    );
    expect(await move(to)).toContainEqual({ name: 'threads', rows: THREADS });
    expect(await contents(to)).toEqual(await contents(from));
    expect(await move(to)).toMatch(
      /the target is not empty, it has rows in agentplane\.\w+; name the database/,
    );
  });

  it('refuses a database of something else before it writes there', async () => {
    const to = await database('CREATE TABLE runs (id int)', 'CREATE TABLE keys (id int)');
    expect(await move(to)).toMatch(
      /the target is not empty, it has table public\.keys, table public\.runs; name/,
    );
    expect(await ask(to, `SELECT FROM pg_namespace WHERE nspname = 'agentplane'`)).toEqual([]);
    const empty = await database();
    expect(await move(await database(), empty)).toMatch(/the source has no tables of an agent server/);
  });

  it.each([
    ['a table', 'CREATE TABLE notes (id int)', 'table public.notes'],
    ['a view', 'CREATE VIEW agentplane.few AS SELECT 1', 'view agentplane.few'],
    ['a type', `CREATE TYPE mood AS ENUM ('good')`, 'type public.mood'],
    [
      'a function',
      `CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT a'`,
      'function public.f(integer)',
    ],
    ['an extension', 'CREATE EXTENSION pg_trgm', 'extension pg_trgm'],
    ['an index of a table of ours', 'CREATE INDEX mine ON agentplane.runs (status)', 'index agentplane.mine'],
    ['a large object', 'SELECT lo_create(4711)', 'large object 4711'],
  ])('refuses %s that no agent server made, until the target has it too', async (_what, statement, name) => {
    const source = await filled(statement);
    const to = await database();
    expect(await move(to, source)).toContain(`the source has ${name}, which no agent server made`);
    expect(await count(to)).toBe(0);
    await ask(to, statement);
    expect(await move(to, source)).toContainEqual({ name: 'threads', rows: THREADS });
  });

  it('refuses tables of another version, and a role that does not own the database', async () => {
    const older = await filled('DELETE FROM agentplane.migrations WHERE version > 20');
    expect(await move(await database(), older)).toMatch(
      /tables of the source are of version 20, those of the target of/,
    );
    const stranger = new URL(await database(`CREATE ROLE stranger LOGIN PASSWORD 'p'`));
    stranger.username = 'stranger';
    stranger.password = 'p';
    expect(await move(stranger.href)).toMatch(/belongs to postgres, not to stranger; take the URI of/);
  });

  it('refuses databases that a server has open, also one that was started during the copy', async () => {
    const to = await database();
    const server = new pg.Client({ connectionString: from, application_name: 'agent-server' });
    await server.connect();
    const refusal = /has open sessions \(1 of agent-server\); suspend its deployment/;
    expect(await move(to)).toMatch(refusal);
    await server.end();
    let started: Promise<unknown> | undefined;
    const passed = (): void => {
      const late = new pg.Client({ connectionString: to, application_name: 'agent-server' });
      opened.push(late);
      started ??= late.connect();
    };
    await expect(moveDatabase({ from, to, bringUpSchema, passed, clock, log })).rejects.toThrow(refusal);
    expect(await count(to)).toBe(0);
  });

  it('leaves nothing of a copy that broke, and is begun again', async () => {
    const to = await database();
    let ended: Promise<unknown> | undefined;
    const passed = (table: string): void => {
      if (table !== 'threads') return;
      ended ??= ask(
        to,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'agentplane-migrate%'`,
      );
    };
    const broken = moveDatabase({ from, to, bringUpSchema, passed, clock, log });
    await expect(broken).rejects.toThrow();
    await ended;
    expect(await count(to)).toBe(0);
    expect(await move(to)).toContainEqual({ name: 'threads', rows: THREADS });
  });
});
