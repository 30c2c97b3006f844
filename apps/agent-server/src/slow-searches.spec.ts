import { setTimeout as pause } from 'node:timers/promises';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';

const postgres = testPostgres();
let server: ServerProcess;
let pool: Pool;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  server = await ServerProcess.start({ uri, env: { AGENTPLANE_SEARCH_SECONDS: '2' } });
  pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
  // some 20 ms each for who looks into it, and some kilobytes on disk
  const state = `{"steps":[${'{"a":0},'.repeat(150_000)}0]}`;
  await pool.query(
    `INSERT INTO agentplane.threads (thread_id, metadata, values)
      SELECT gen_random_uuid(), '{}', $1::json FROM generate_series(1, 400)`,
    [state],
  );
});
afterAll(async () => {
  await server.stop('SIGKILL');
  await pool.end();
});

function ask(path: string, signal?: AbortSignal): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ values: { wanted: true } }),
    ...(signal ? { signal } : {}),
  });
}

async function searchesAtWork(): Promise<number> {
  const { rowCount } = await pool.query(
    `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%searchable(values)%'`,
  );
  return rowCount ?? 0;
}

describe('a server whose callers search every state of many threads', () => {
  // a search counts beside
  it.each(['/threads/count', '/threads/search'])(
    'stops a slow one in the database and refuses it at %s',
    async (path) => {
      const response = await ask(path);
      expect([response.status, await response.json()]).toEqual([
        400,
        {
          detail: expect.stringMatching(
            /^(Search|Count)ing threads took longer than 2 s; ask for less: ids, status and metadata have indexes/,
          ),
        },
      ]);
      await waitFor(async () => (await searchesAtWork()) === 0);
    },
  );

  it('cancels one in the database when its client leaves', async () => {
    const left = new AbortController();
    const answer = ask('/threads/count', left.signal).catch((error: Error) => error.name);
    await waitFor(async () => (await searchesAtWork()) > 0);
    const began = performance.now();
    left.abort();
    expect(await answer).toBe('AbortError');
    await waitFor(async () => (await searchesAtWork()) === 0);
    expect(performance.now() - began).toBeLessThan(1_500);
  });

  it('answers other requests meanwhile', async () => {
    const left = new AbortController();
    const slow = Array.from({ length: 8 }, () => ask('/threads/count', left.signal).catch(() => undefined));
    await waitFor(async () => (await searchesAtWork()) > 0);
    const began = performance.now();
    await server.client().threads.create();
    await server.client().runs.wait(null, 'counter', { input: {} });
    expect(performance.now() - began).toBeLessThan(2_000);
    left.abort();
    await Promise.all(slow);
    await pause(100);
    await waitFor(async () => (await searchesAtWork()) === 0);
  });
});
