import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const modules = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'node_modules');
const postgres = testPostgres();
const folder = temporaryFolder();
const servers: ServerProcess[] = [];
let uri: string;
/** The server of all tests but those of other settings. */
let server: ServerProcess;

beforeAll(async () => {
  uri = (await postgres.freshDatabase(prepareDatabase)).uri;
  server = await serve();
});
afterAll(() => Promise.all(servers.map((one) => one.stop('SIGKILL'))));

const GRAPH = `
import { Annotation, DeltaChannel, END, START, StateGraph } from ${JSON.stringify(join(modules, '@langchain/langgraph/dist/web.js'))};
const State = Annotation.Root({ steps: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }), waitMs: Annotation });
export const counter = new StateGraph(State)
  .addNode('count', async (state) => {
    await new Promise((resolve) => setTimeout(resolve, state.waitMs ?? 0));
    return { steps: ['step'] };
  })
  .addEdge(START, 'count').addEdge('count', END).compile();
const Deltas = Annotation.Root({ steps: () => new DeltaChannel((steps, updates) => [...steps, ...updates.flat()]) });
export const deltas = new StateGraph(Deltas)
  .addNode('count', () => ({ steps: ['step'] })).addEdge(START, 'count').addEdge('count', END).compile();
`;

/** A server that looks for expired threads every 300 ms. */
async function serve(ttl: object = {}, database = uri): Promise<ServerProcess> {
  const agent = join(folder, String(performance.now()));
  mkdirSync(agent);
  writeFileSync(join(agent, 'graph.mjs'), GRAPH);
  const checkpointer = { ttl: { sweep_interval_minutes: 0.005, ...ttl } };
  const graphs = { counter: './graph.mjs:counter', deltas: './graph.mjs:deltas' };
  writeFileSync(join(agent, 'langgraph.json'), JSON.stringify({ graphs, checkpointer }));
  const started = await ServerProcess.start({ uri: database, folder: agent });
  servers.push(started);
  return started;
}

async function query(
  text: string,
  values: unknown[] = [],
  database = uri,
): Promise<Record<string, unknown>[]> {
  const pool = openPool({ uri: database, applicationName: 'test', log: createLogger('test', 'silent') });
  try {
    return (await pool.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await pool.end();
  }
}

/** Makes the thread that much older. */
async function age(threadId: string, minutes: number): Promise<void> {
  await query(
    `WITH older AS (UPDATE agentplane.threads SET updated_at = updated_at - $2 * interval '1 minute'
       WHERE thread_id = $1)
     UPDATE agentplane.thread_ttls SET check_at = check_at - $2 * interval '1 minute' WHERE thread_id = $1`,
    [threadId, minutes],
  );
}

async function ttlOf(server: ServerProcess, threadId: string): Promise<unknown> {
  const answer = await fetch(`${server.url}/threads/${threadId}?include=ttl`);
  if (answer.status === 404) return 'gone';
  return ((await answer.json()) as { ttl: unknown }).ttl;
}

const checkpointsOf = async (threadId: string): Promise<number> =>
  (await query('SELECT 1 FROM agentplane.checkpoints WHERE thread_id = $1', [threadId])).length;

describe('the data of a person', () => {
  it('removes the threads with its metadata, with runs, states and output, and no others', async () => {
    const { threads, runs, crons } = server.client();
    const make = async (person: string): Promise<string> => {
      const { thread_id: id } = await threads.create({ metadata: { person } });
      await runs.wait(id, 'counter', { input: {} });
      await crons.createForThread(id, 'counter', { schedule: '@yearly', input: { person } });
      return id;
    };
    const alices = [await make('alice'), await make('alice')];
    const bobs = await make('bob');
    const prune = (body: object) =>
      fetch(`${server.url}/threads/prune`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    for (const body of [{}, { metadata: {} }, { metadata: { person: 'alice' }, strategy: 'keep_latest' }])
      expect((await prune(body)).status).toBe(422);
    expect(await (await prune({ metadata: { person: 'alice' } })).json()).toEqual({ pruned_count: 2 });
    expect(await threads.search({ metadata: { person: 'alice' } })).toEqual([]);
    for (const table of ['runs', 'crons', 'checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
      for (const id of alices)
        expect(await query(`SELECT 1 FROM agentplane.${table} WHERE thread_id::text = $1`, [id])).toEqual([]);
    expect((await threads.getState(bobs)).values).toMatchObject({ steps: ['step'] });
    expect(await crons.count()).toBe(1);
  });
});

describe('the time to live of a thread', () => {
  it('removes a thread with its runs and states once it is over, and no other', async () => {
    const { threads, runs } = server.client();
    const { thread_id: short } = await threads.create({ ttl: 10 });
    const { thread_id: long } = await threads.create({ ttl: { ttl: 100, strategy: 'delete' } });
    const { thread_id: forever } = await threads.create();
    for (const id of [short, long, forever]) await runs.wait(id, 'counter', { input: {} });
    expect(await ttlOf(server, short)).toMatchObject({
      strategy: 'delete',
      ttl_minutes: 10,
      expires_at: expect.stringMatching(/Z$/),
    });
    expect(await ttlOf(server, forever)).toBeNull();
    for (const id of [short, long, forever]) await age(id, 11);
    await waitFor(async () => (await ttlOf(server, short)) === 'gone');
    expect(await checkpointsOf(short)).toBe(0);
    expect(await query('SELECT 1 FROM agentplane.runs WHERE thread_id = $1', [short])).toEqual([]);
    expect(await threads.get(long)).toMatchObject({ thread_id: long });
    expect(await threads.get(forever)).toMatchObject({ thread_id: forever });
  });

  it('leaves the last state where it says so, and changes by PATCH', async () => {
    const { threads, runs } = server.client();
    const { thread_id: threadId } = await threads.create({ ttl: 10 });
    await runs.wait(threadId, 'counter', { input: {} });
    await runs.wait(threadId, 'counter', { input: {} });
    expect(await checkpointsOf(threadId)).toBeGreaterThan(2);
    const ttl = { ttl: 20, strategy: 'keep_latest' };
    await fetch(`${server.url}/threads/${threadId}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ttl }),
    });
    expect(await ttlOf(server, threadId)).toMatchObject({ strategy: 'keep_latest', ttl_minutes: 20 });
    await age(threadId, 21);
    await waitFor(async () => (await checkpointsOf(threadId)) === 1);
    expect((await threads.getState(threadId)).values).toEqual({ steps: ['step', 'step'] });
  });

  it('leaves what the values of a channel that stores changes are made of', async () => {
    const { threads, runs } = server.client();
    const { thread_id: threadId } = await threads.create({
      ttl: { ttl: 10, strategy: 'keep_latest' as 'delete' },
    });
    for (let n = 0; n < 2; n++) await runs.wait(threadId, 'deltas', { input: {} });
    await age(threadId, 11);
    const rested =
      'SELECT 1 FROM agentplane.thread_ttls WHERE thread_id = $1 AND check_at > clock_timestamp()';
    await waitFor(async () => (await query(rested, [threadId])).length === 1);
    expect(await runs.wait(threadId, 'deltas', { input: {} })).toEqual({ steps: ['step', 'step', 'step'] });
  });

  it('waits for the end of a run, and begins again with each', async () => {
    const { threads, runs } = server.client();
    const { thread_id: threadId } = await threads.create({ ttl: 10 });
    const run = await runs.create(threadId, 'counter', { input: { waitMs: 1_000 } });
    await age(threadId, 30);
    await runs.join(threadId, run.run_id);
    expect(await runs.get(threadId, run.run_id)).toMatchObject({ status: 'success' });
    const [row] = await query(
      `SELECT check_at > clock_timestamp() AS waits FROM agentplane.thread_ttls WHERE thread_id = $1`,
      [threadId],
    );
    expect(row).toEqual({ waits: true });
  });

  it('takes from langgraph.json what threads do not ask for, at several servers', async () => {
    const ttl = { strategy: 'delete', default_ttl: 10, sweep_limit: 60 };
    const { uri: database } = await postgres.freshDatabase(prepareDatabase);
    const [first, second] = await Promise.all([serve(ttl, database), serve(ttl, database)]);
    const { threads, runs } = first.client();
    const ids = await Promise.all(Array.from({ length: 70 }, async () => (await threads.create()).thread_id));
    const made = crypto.randomUUID();
    await runs.wait(made, 'counter', { input: {}, ifNotExists: 'create' });
    expect(await ttlOf(second, made)).toMatchObject({ strategy: 'delete', ttl_minutes: 10 });
    const { thread_id: own } = await second.client().threads.create({ ttl: 1_000 });
    await query(
      `UPDATE agentplane.threads SET updated_at = updated_at - interval '11 minutes'`,
      [],
      database,
    );
    await query('UPDATE agentplane.thread_ttls SET check_at = clock_timestamp()', [], database);
    await waitFor(async () => (await threads.count()) === 1);
    expect(await ttlOf(first, own)).toMatchObject({ ttl_minutes: 1_000 });
    expect(ids).toHaveLength(70);
  });

  it.each([0, -1, 'soon', { ttl: 0 }, { ttl: 5, strategy: 'archive' }, 1e12])('refuses %j', async (ttl) => {
    const answer = await fetch(`${server.url}/threads`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ttl }),
    });
    expect(answer.status).toBe(422);
  });
});
