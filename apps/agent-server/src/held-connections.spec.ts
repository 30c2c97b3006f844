import { randomUUID } from 'node:crypto';
import type { Client } from '@langchain/langgraph-sdk';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const server = testServer({ env: { CRON_MIN_INTERVAL_SECONDS: '1' } });
let client: Client;
let pool: Pool;
const held = new Set<() => Promise<void>>();

beforeAll(() => {
  client = server.client();
  pool = openPool({ uri: server.uri, applicationName: 'test', log: createLogger('test', 'silent') });
});

afterEach(async () => {
  for (const unlock of held) await unlock();
});

afterAll(() => pool?.end());

async function countOf(text: string, values: unknown[] = []): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${text}`, values);
  return rows[0]?.count ?? 0;
}

/** Waits until the server has a transaction in which it waits for a graph. */
async function changeBegins(): Promise<void> {
  const changes = `pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`;
  await waitFor(async () => (await countOf(changes)) > 0);
}

/** Takes locks by a statement; answers a function that releases them, as the end of a failed test does. */
async function hold(statement: string, values: unknown[] = []): Promise<() => Promise<void>> {
  const connection = await pool.connect();
  const unlock = async (): Promise<void> => {
    if (held.delete(unlock)) await connection.query('ROLLBACK').finally(() => connection.release());
  };
  held.add(unlock);
  await connection.query('BEGIN');
  await connection.query(statement, values);
  return unlock;
}

function firesOf(cronId: string): Promise<number> {
  return countOf(`agentplane.crons WHERE cron_id = $1 AND last_run_date IS NOT NULL`, [cronId]);
}

async function eraseItems(): Promise<void> {
  const response = await fetch(`${server.url}/threads/erase`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { person: 'nobody' }, namespaces: [['nobody']] }),
  });
  expect(response.status).toBe(200);
}

/** A thread that is made of very many steps: its row is locked for seconds. */
function longThread(threadId: string): Promise<unknown> {
  const supersteps = Array.from({ length: 300 }, (_, at) => ({
    updates: [{ values: { steps: [`step ${at}`] }, asNode: 'count' }],
  }));
  return client.threads.create({ threadId, graphId: 'counter', supersteps, ifExists: 'do_nothing' });
}

describe('a thread that is made of many steps', () => {
  it('keeps no request about another thread waiting, however many wait for it', async () => {
    const threadId = randomUUID();
    const made = longThread(threadId);
    const waiting: Promise<unknown>[] = [];
    const ended: string[] = [];
    void made.then(() => ended.push('made'));
    await changeBegins();
    for (let at = 0; at < 8; at++)
      waiting.push(client.threads.create({ threadId, ifExists: 'do_nothing' }), longThread(threadId));
    const other = await client.threads.create({ ttl: 60 });
    await client.runs.wait(other.thread_id, 'counter', { input: {} });
    await client.threads.delete(other.thread_id);
    ended.push('deleted');
    await made;
    expect(ended).toEqual(['deleted', 'made']);
    const [first] = await Promise.all(waiting);
    expect(first).toMatchObject({ thread_id: threadId });
  });
});

describe.each<[string, string, (threadId: string) => Promise<unknown>]>([
  ['a search', 'store_items', () => client.store.searchItems([], { limit: 1 })],
  ['a copy of a thread', 'checkpoint_blobs', (threadId) => client.threads.copy(threadId)],
  ['an erasure', 'store_items', () => eraseItems()],
])('%s that takes long', (_what, table, ask) => {
  it('keeps nothing but its like waiting', async () => {
    const { thread_id: threadId } = await client.threads.create();
    const unlock = await hold(`LOCK TABLE agentplane.${table} IN ACCESS EXCLUSIVE MODE`);
    const asked = Array.from({ length: 12 }, () => ask(threadId));
    const waiting = `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await waitFor(async () => (await countOf(waiting)) > 0);
    await client.threads.update(threadId, { metadata: { is: 'answered' } });
    await client.runs.create(threadId, 'counter', { input: {}, afterSeconds: 600 });
    await unlock();
    await expect(Promise.all(asked)).resolves.toHaveLength(12);
  });
});

describe('a cron on a thread that is being changed', () => {
  it('waits, and keeps no other cron waiting', async () => {
    const { thread_id: threadId } = await client.threads.create();
    const unlock = await hold('SELECT 1 FROM agentplane.threads WHERE thread_id = $1 FOR UPDATE', [threadId]);
    const schedule = '* * * * * *';
    const first = await client.crons.createForThread(threadId, 'counter', { schedule, input: {} });
    const other = await client.crons.create('counter', { schedule, input: {}, onRunCompleted: 'keep' });
    const hasFired = async (cronId: string): Promise<boolean> => (await firesOf(cronId)) > 0;
    await waitFor(() => hasFired(other.cron_id));
    expect(await firesOf(first.cron_id)).toBe(0);
    await unlock();
    await waitFor(() => hasFired(first.cron_id));
    await Promise.all([client.crons.delete(first.cron_id), client.crons.delete(other.cron_id)]);
  });
});
