import Fastify, { type FastifyInstance } from 'fastify';
import { PublicError } from '#lib/errors';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { findThreadTtl } from '../store/statement/threads.js';
import { WORKER } from '../store/worker-scope.js';
import { EVERY_ROW } from '../store/scope.js';
import { ThreadState, type StateSource } from './thread-state.js';
import { ThreadReader, ThreadWriter } from '../store/statement/change-thread.js';
import { registerThreadRoutes } from './thread-routes.js';

const store = storeFixture();
let app: FastifyInstance;
/** Questions to the process of the graphs, and the promise that its answers wait for. */
const asked: string[] = [];
let held: Promise<void> | undefined;
let left: AbortSignal | undefined;

beforeAll(() => {
  app = Fastify();
  app.decorateRequest('scope', undefined);
  app.addHook('onRequest', async (request) => {
    request.scope = { kind: 'caller', filter: EVERY_ROW, left };
  });
  const threads = new ThreadWriter(store.sql);
  const reader = new ThreadReader(store.sql);
  const parts = { sql: store.sql, threads, reader, clock: systemClock, traces: undefined };
  const hosts: StateSource = {
    ask: async (kind) => {
      asked.push(kind);
      await held;
      return JSON.stringify({ kind });
    },
  };
  const states = {
    ...parts,
    hosts,
    graphs: new Set(['graph']),
    assistants: { get: async () => ({ config: {} }) },
  };
  registerThreadRoutes(app, { ...parts, state: new ThreadState(states as never) });
});

afterAll(() => app.close());

/** Creates a thread, or returns the existing one. */
async function create(threadId: string, more: object): Promise<unknown> {
  const payload = { thread_id: threadId, if_exists: 'do_nothing', ...more };
  const answer = await app.inject({ method: 'POST', url: '/threads', payload });
  expect(answer.statusCode).toBe(200);
  return findThreadTtl(WORKER, store.sql, threadId);
}

describe('POST /threads', () => {
  it('says how long a thread lives that it creates, and no other', async () => {
    const [lasting, ending] = [newId(), newId()];
    const supersteps = [{ updates: [{ values: {} }] }];
    expect(await create(lasting, {})).toBeUndefined();
    expect(await create(lasting, { ttl: 0.001 })).toBeUndefined();
    expect(await create(lasting, { ttl: { ttl: 1, strategy: 'keep_latest' }, supersteps })).toBeUndefined();
    expect(await create(ending, { ttl: 60 })).toMatchObject({ strategy: 'delete', ttl_minutes: 60 });
    expect(await create(ending, { ttl: 0.001 })).toMatchObject({ strategy: 'delete', ttl_minutes: 60 });
  });
});

/** Text with more digits than a number of JavaScript has. */
const VALUES = '{"n": 12345678901234567890}';

async function threadOf(metadata: object): Promise<string> {
  const threadId = newId();
  await create(threadId, { metadata });
  await store.pool.query('UPDATE agentplane.threads SET values = $2 WHERE thread_id = $1', [
    threadId,
    VALUES,
  ]);
  return threadId;
}

async function textOf(url: string): Promise<string> {
  const { statusCode, payload } = await app.inject({ method: 'GET', url });
  expect([url, statusCode]).toEqual([url, 200]);
  return payload;
}

describe('a route that reads a thread', () => {
  it('answers its values as the graph wrote them', async () => {
    const threadId = await threadOf({ a: 'b' });
    const text = await textOf(`/threads/${threadId}?include=ttl`);
    expect(text).toContain(`"values":${VALUES},`);
    expect(JSON.parse(text)).toEqual({
      thread_id: threadId,
      metadata: { a: 'b' },
      status: 'idle',
      config: {},
      values: JSON.parse(VALUES) as unknown,
      interrupts: {},
      error: null,
      ttl: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      state_updated_at: expect.any(String),
    });
    const state = await textOf(`/threads/${threadId}/state`);
    expect(state).toContain(`"values":${VALUES},`);
    expect(JSON.parse(state)).toMatchObject({ next: [], interrupts: [] });
    expect(await textOf(`/threads/${threadId}/state?select=next`)).toBe('{"next":[]}');
    expect(await textOf(`/threads/${threadId}/state?select=values.n`)).toBe(
      `{"values":${VALUES.replace(' ', '')}}`,
    );
  });

  it('answers a thread that has no values', async () => {
    const threadId = newId();
    await create(threadId, {});
    expect(JSON.parse(await textOf(`/threads/${threadId}`))).toMatchObject({ values: null });
    expect(JSON.parse(await textOf(`/threads/${threadId}/state`))).toMatchObject({ values: {} });
    const missing = await app.inject({ method: 'GET', url: `/threads/${newId()}` });
    expect(missing.payload).toContain('not found');
  });

  it('reads no values where its graph answers', async () => {
    const [used, unused] = [await threadOf({ graph_id: 'graph' }), await threadOf({})];
    await store.pool.query('ALTER TABLE agentplane.threads RENAME COLUMN values TO hidden');
    try {
      expect(await textOf(`/threads/${used}/state`)).toBe('{"kind":"state"}');
      expect(await textOf(`/threads/${used}/history`)).toBe('{"kind":"history"}');
      expect(await textOf(`/threads/${unused}/history`)).toBe('[]');
    } finally {
      await store.pool.query('ALTER TABLE agentplane.threads RENAME COLUMN hidden TO values');
    }
  });
});

describe('a question about a state', () => {
  it('waits for its turn, and is not asked for a client that has left', async () => {
    const threadId = await threadOf({ graph_id: 'graph' });
    const ask = (): Promise<string> => textOf(`/threads/${threadId}/state`);
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    asked.length = 0;
    const client = new AbortController();
    const first = [ask(), ask(), ask()];
    await waitFor(async () => asked.length === 3);
    left = client.signal;
    const gone = [ask(), ask()].map((answer) => answer.catch(() => 'none'));
    await new Promise((done) => setImmediate(done));
    left = undefined;
    const others = [ask()];
    client.abort(new PublicError('bad_request', 'left'));
    expect(await Promise.all(gone)).toEqual(['none', 'none']);
    expect(asked).toHaveLength(3);
    resolve();
    expect(new Set(await Promise.all([...first, ...others]))).toEqual(new Set(['{"kind":"state"}']));
    expect(asked).toHaveLength(4);
    held = undefined;
  });
});
