import Fastify, { type FastifyInstance } from 'fastify';
import { PublicError } from '#lib/errors';
import { FakeClock, waitFor } from '#lib/testing';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { AuthRefusal } from '../authorization/auth-user.js';
import { EVERY_ROW, sqlFilter, type SqlFilter } from '../store/scope.js';
import { createThread, patchThread } from '../store/statement/change-thread.js';
import { askAgain } from './ask-again.js';
import { access } from './route-access.js';

const EVERYTHING = { kind: 'caller', filter: EVERY_ROW } as const;
const store = storeFixture();

const ALICE = { identity: 'alice', display_name: 'alice', is_authenticated: true, permissions: [] };
let threadId: string;
let app: FastifyInstance;
let clock: FakeClock;
let asked: number;
/** Error thrown when the caller is authenticated again. */
let trouble: Error | undefined;
/** Filter that the handler of the agent returns; undefined admits every row. */
let filter: SqlFilter | undefined;

beforeEach(async () => {
  clock = new FakeClock();
  [asked, trouble, filter] = [0, undefined, undefined];
  threadId = newId();
  app = Fastify({ forceCloseConnections: true });
  app.decorate('authorization', { authorize: async () => filter } as never);
  app.decorate('callerOf', async () => {
    asked++;
    if (trouble) throw trouble;
    return ALICE;
  });
  app.decorateRequest('caller', undefined);
  app.get('/threads/:thread_id/stream', access('threads:read'), (request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200).write('begun');
    askAgain(request, reply.raw, () => reply.raw.destroy(), { clock, sql: store.sql, random: () => 1 });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(() => app.close());

/** An answer without end; `hasEnded` once it was cut. */
async function read(): Promise<{ hasEnded: () => boolean; leave: () => void }> {
  const abort = new AbortController();
  const { body } = await fetch(`${app.listeningOrigin}/threads/${threadId}/stream`, { signal: abort.signal });
  let hasEnded = false;
  void body?.pipeTo(new WritableStream()).catch(() => (hasEnded = true));
  return { hasEnded: () => hasEnded, leave: () => abort.abort() };
}

describe('askAgain', () => {
  it.each([
    ['a key that was revoked', new PublicError('unauthenticated', 'API key not valid')],
    ['a key whose scope was changed', new PublicError('forbidden', 'API key refused')],
    ['a revoked key that was refused too often', new PublicError('too_many', 'Too many wrong API keys')],
    ['a token that expired', new AuthRefusal(401, 'The token is not valid')],
  ])('ends the answer for %s', async (_, refusal) => {
    const { hasEnded } = await read();
    await clock.advance(120_000);
    expect([asked, hasEnded()]).toEqual([2, false]);
    trouble = refusal;
    await clock.advance(60_000);
    await waitFor(hasEnded);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['the platform is unavailable', new PublicError('unavailable', 'API key not verified')],
    ['the handler of the agent fails', new AuthRefusal(500, 'the handler failed')],
  ])('goes on for five minutes while %s', async (_, error) => {
    const { hasEnded } = await read();
    trouble = error;
    await clock.advance(240_000);
    expect([asked, hasEnded()]).toEqual([4, false]);
    trouble = undefined;
    await clock.advance(80_000);
    await waitFor(() => clock.pending === 1);
    trouble = error;
    await clock.advance(240_000);
    await clock.advance(60_000);
    // the last question of five is spread over 40 s
    expect([asked, hasEnded()]).toEqual([9, false]);
    await clock.advance(20_000);
    await waitFor(hasEnded);
  });

  it('ends the answer for a thread that was given to another', async () => {
    const { hasEnded } = await read();
    filter = sqlFilter({ owner: 'alice' });
    const minutes = async (count: number): Promise<void> => {
      await clock.advance(60_000);
      await waitFor(() => asked === count && (clock.pending === 1 || hasEnded()));
    };
    await minutes(1);
    await createThread(EVERYTHING, store.sql, threadId, { owner: 'alice' }, 'raise');
    await minutes(2);
    expect(hasEnded()).toBe(false);
    await patchThread(EVERYTHING, store.sql, threadId, { owner: 'bob' });
    await minutes(3);
    await waitFor(hasEnded);
  });

  it('asks no more once the client has left', async () => {
    const { leave } = await read();
    leave();
    await waitFor(() => clock.pending === 0);
    await clock.advance(120_000);
    expect(asked).toBe(0);
  });
});
