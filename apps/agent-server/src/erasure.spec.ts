import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const postgres = testPostgres();
const NOTHING = { threads: 0, crons: 0, stateless_runs: 0, items: 0 };

interface Erasure {
  readonly key: string | undefined;
  readonly trace_ids: readonly string[];
  readonly thread_ids: readonly string[];
  readonly began_by?: string;
}

/**
 * The deletion of traces at a platform that can be unavailable: tests which server asks again, and for which
 * traces.
 */
class Traces {
  readonly asked: Erasure[] = [];
  isAway = false;
  server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      void json(request).then((body) => {
        this.asked.push({ ...(body as Erasure), key: String(request.headers['x-api-key']) });
        response.writeHead(this.isAway ? 503 : 200).end('{"deleted_runs": 0}');
      });
    }).listen(0, '127.0.0.1');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  idsOf(kind: 'trace_ids' | 'thread_ids'): Set<string> {
    return new Set(this.asked.flatMap((erasure) => erasure[kind]));
  }
}

describe('an agent server that deletes', () => {
  const traces = new Traces();
  let uri: string;
  let server: ServerProcess;

  const start = () =>
    ServerProcess.start({
      uri,
      env: { AGENTPLANE_AUTH: 'off', AGENTPLANE_AUTH_URL: traces.url, LANGSMITH_API_KEY: 'own key' },
    });

  beforeAll(async () => {
    await (traces.server.listening || once(traces.server, 'listening'));
    uri = (await postgres.freshDatabase(prepareDatabase)).uri;
    server = await start();
  });
  afterAll(async () => {
    await server.stop();
    traces.server.close();
  });
  beforeEach(() => {
    traces.asked.length = 0;
    traces.isAway = false;
  });

  async function threadWithRun(metadata: Record<string, string>): Promise<readonly [string, string]> {
    const client = server.client();
    const { thread_id } = await client.threads.create({ metadata });
    const { run_id } = await client.runs.create(thread_id, 'counter', { input: {} });
    await client.runs.join(thread_id, run_id);
    return [thread_id, run_id];
  }
  const send = (method: string, path: string, body?: object) =>
    fetch(server.url + path, {
      method,
      ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
    });
  const erase = async (body: object) => (await (await send('POST', '/threads/erase', body)).json()) as object;
  /** Tables that have a row with this text. */
  const tablesWith = async (text: string): Promise<string[]> => {
    const pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
    try {
      const { rows } = await pool.query<{ name: string }>(
        "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'agentplane' ORDER BY 1",
      );
      const found: string[] = [];
      for (const { name } of rows) {
        const query = `SELECT 1 FROM agentplane.${name} t WHERE t::text LIKE $1 LIMIT 1`;
        if ((await pool.query(query, [`%${text}%`])).rows.length > 0) found.push(name);
      }
      return found;
    } finally {
      await pool.end();
    }
  };
  const waiting = async (): Promise<number> => {
    const text = await (await send('GET', '/metrics')).text();
    return Number(/^agentplane_agent_trace_erasures_waiting(?:\{.*\})? (\d+)/m.exec(text)?.[1]);
  };

  it('keeps the traces of threads and runs unless asked for them', async () => {
    const [kept] = await threadWithRun({});
    const [thread, run] = await threadWithRun({});
    const [ofRun, single] = await threadWithRun({});
    expect((await send('DELETE', `/threads/${kept}`)).status).toBe(204);
    expect((await send('DELETE', `/threads/${thread}?traces=all`)).status).toBe(422);
    expect((await send('DELETE', `/threads/${thread}?traces=delete`)).status).toBe(204);
    expect((await send('DELETE', `/threads/${ofRun}/runs/${single}?traces=delete`)).status).toBe(204);
    await waitFor(() => traces.idsOf('trace_ids').size === 2);
    expect(traces.idsOf('trace_ids')).toEqual(new Set([run, single]));
    expect(traces.idsOf('thread_ids')).toEqual(new Set([thread]));
    expect(new Set(traces.asked.map(({ key }) => key))).toEqual(new Set(['own key']));
    expect((await send('GET', `/threads/${ofRun}`)).status).toBe(200);
  });

  it('orders nothing for a thread or run that is not there', async () => {
    const [thread] = await threadWithRun({});
    const absent = crypto.randomUUID();
    expect((await send('DELETE', `/threads/${absent}?traces=delete`)).status).toBe(404);
    expect((await send('DELETE', `/threads/${thread}/runs/${absent}?traces=delete`)).status).toBe(404);
    expect(await waiting()).toBe(0);
  });

  it('reaches threads, crons and items of a person, after a count that removes nothing', async () => {
    const [first, second] = [
      await threadWithRun({ person: 'carol' }),
      await threadWithRun({ person: 'carol' }),
    ];
    const [other] = await threadWithRun({ person: 'dave' });
    const client = server.client();
    await client.crons.create('counter', { schedule: '0 0 1 1 *', metadata: { person: 'carol' }, input: {} });
    await client.store.putItem(['users', 'carol'], 'a', { likes: 'tea' });
    await client.store.putItem(['users', 'carol2'], 'a', { likes: 'milk' });
    const asked = { metadata: { person: 'carol' }, namespaces: [['users', 'carol']] };
    const reached = { threads: 2, crons: 1, stateless_runs: 0, items: 1 };
    expect(await erase({ ...asked, dry_run: true })).toMatchObject({ dry_run: true, ...reached });
    expect(await erase(asked)).toMatchObject({ dry_run: false, is_complete: true, ...reached });
    expect(await erase({ ...asked, dry_run: true })).toMatchObject(NOTHING);
    expect(await erase(asked)).toMatchObject({ is_complete: true, ...NOTHING });
    await waitFor(() => traces.idsOf('trace_ids').size === 2);
    expect(traces.idsOf('thread_ids')).toEqual(new Set([first[0], second[0]]));
    expect((await send('GET', `/threads/${other}`)).status).toBe(200);
    expect(await client.store.getItem(['users', 'carol2'], 'a')).toMatchObject({ value: { likes: 'milk' } });
  });

  it.each([
    ['a deletion', (id: string) => send('DELETE', `/threads/${id}`)],
    ['an erasure', () => send('POST', '/threads/erase', { metadata: { person: 'an erasure' } })],
    ['a pruning', (id: string) => send('POST', '/threads/prune', { thread_ids: [id] })],
  ])('keeps no row of a thread whose channels store changes after %s', async (person, remove) => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create({ metadata: { person } });
    for (let run = 0; run < 9; run++) await client.runs.wait(id, 'deltas', { input: {} });
    const [, , earlier] = await client.threads.getHistory(id);
    const checkpointId = earlier?.checkpoint?.checkpoint_id ?? '';
    await client.runs.wait(id, 'deltas', { input: {}, checkpointId });
    await client.runs.wait(id, 'forecast', { input: {} });
    expect(await client.threads.get(id)).toMatchObject({ status: 'interrupted' });
    expect(await tablesWith(id)).toEqual(
      expect.arrayContaining(['checkpoint_blobs', 'checkpoint_writes', 'checkpoints', 'runs', 'threads']),
    );
    expect((await remove(id)).ok).toBe(true);
    // the traces of an erased thread are still to be deleted at the platform
    await waitFor(async () => (await tablesWith(id)).length === 0);
  });

  it('ends runs without a thread that carry the metadata', async () => {
    const metadata = { person: 'erin' };
    const { run_id } = await server
      .client()
      .runs.create(null, 'counter', { input: {}, metadata, afterSeconds: 600 });
    expect(await erase({ metadata })).toMatchObject({ stateless_runs: 1 });
    expect((await send('GET', `/runs/${run_id}`)).status).toBe(404);
    await waitFor(() => traces.idsOf('trace_ids').has(run_id));
  });

  it('keeps no other thread waiting, however many deletions wait for one', async () => {
    const [[thread], [other]] = [await threadWithRun({}), await threadWithRun({})];
    const pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
    const connection = await pool.connect();
    try {
      await connection.query('BEGIN');
      await connection.query('SELECT 1 FROM agentplane.threads WHERE thread_id = $1 FOR UPDATE', [thread]);
      const deletions = Array.from({ length: 4 }, () => send('DELETE', `/threads/${thread}?traces=delete`));
      const blocked = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await waitFor(async () => (await pool.query(blocked)).rows.length > 0);
      expect((await send('DELETE', `/threads/${other}?traces=delete`)).status).toBe(204);
      expect((await pool.query(blocked)).rows).toHaveLength(1);
      await connection.query('ROLLBACK');
      const statuses = (await Promise.all(deletions)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([204, 404, 404, 404]);
      await waitFor(async () => (await waiting()) === 0);
    } finally {
      connection.release(true);
      await pool.end();
    }
  });

  it('refuses what names nothing', async () => {
    for (const body of [{}, { metadata: {} }, { metadata: { a: 1 }, namespaces: [[]] }])
      expect((await send('POST', '/threads/erase', body)).status).toBe(422);
  });

  it('has the platform delete traces after an outage and a SIGKILL, and counts those that wait', async () => {
    traces.isAway = true;
    const [thread, run] = await threadWithRun({ person: 'frank' });
    expect((await send('DELETE', `/threads/${thread}?traces=delete`)).status).toBe(204);
    await waitFor(() => traces.asked.length > 0);
    expect(await waiting()).toBe(2);
    await server.stop('SIGKILL');
    [traces.isAway, traces.asked.length] = [false, 0];
    server = await start();
    await waitFor(() => traces.idsOf('trace_ids').has(run) && traces.idsOf('thread_ids').has(thread));
    await waitFor(async () => (await waiting()) === 0);
  });
});
