import Fastify, { type FastifyInstance } from 'fastify';
import { systemClock } from '#lib/time';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { findThreadTtl } from '../store/ttl/find-thread-ttl.js';
import { WORKER } from '../store/worker-scope.js';
import { EVERY_ROW } from '../store/sql-filter.js';
import { ThreadState } from './thread-state.js';
import { ThreadWriter } from '../store/thread/thread-writer.js';
import { registerThreadRoutes } from './thread-routes.js';

const store = storeFixture();
let app: FastifyInstance;

beforeAll(() => {
  app = Fastify();
  app.decorateRequest('scope', undefined);
  app.addHook('onRequest', async (request) => {
    request.scope = { kind: 'caller', filter: EVERY_ROW };
  });
  const threads = new ThreadWriter(store.sql);
  const parts = { sql: store.sql, threads, clock: systemClock, traces: undefined };
  registerThreadRoutes(app, { ...parts, state: new ThreadState(parts as never) });
});

afterAll(() => app.close());

/** Creates a thread, or asks for the one that there is. */
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
