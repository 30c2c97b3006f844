import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';

const postgres = testPostgres();
let server: ServerProcess;
/** Lets searches take as long as they need. */
let patientServer: ServerProcess;
let pool: Pool;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  const start = (seconds: string) =>
    ServerProcess.start({ uri, env: { AGENTPLANE_SEARCH_SECONDS: seconds } });
  [server, patientServer] = await Promise.all([start('2'), start('600')]);
  pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
  // each reader of it takes some 20 ms, and it takes some kilobytes on disk
  const state = `{"steps":[${'{"a":0},'.repeat(150_000)}0]}`;
  await pool.query(
    `INSERT INTO agentplane.threads (thread_id, metadata, values)
      SELECT gen_random_uuid(), '{}', $1::json FROM generate_series(1, 400)`,
    [state],
  );
});
afterAll(async () => {
  await Promise.all([server.stop('SIGKILL'), patientServer.stop('SIGKILL')]);
  await pool.end();
});

function ask(path: string, at = server, signal?: AbortSignal): Promise<Response> {
  return fetch(at.url + path, {
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
    const holder = await pool.connect();
    await holder.query('BEGIN; LOCK TABLE agentplane.threads IN ACCESS EXCLUSIVE MODE');
    const answer = ask('/threads/count', patientServer, left.signal).catch((error: Error) => error.name);
    await waitFor(async () => (await searchesAtWork()) > 0);
    left.abort();
    expect(await answer).toBe('AbortError');
    await waitFor(async () => (await searchesAtWork()) === 0);
    await holder.query('COMMIT');
    holder.release();
  });

  it('answers other requests meanwhile', async () => {
    const left = new AbortController();
    const slow = Array.from({ length: 8 }, () =>
      ask('/threads/count', patientServer, left.signal).then(
        () => 'answered',
        () => 'left',
      ),
    );
    await waitFor(async () => (await searchesAtWork()) > 0);
    await patientServer.client().threads.create();
    await patientServer.client().runs.wait(null, 'counter', { input: {} });
    left.abort();
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['left']));
    await waitFor(async () => (await searchesAtWork()) === 0);
  });
});
