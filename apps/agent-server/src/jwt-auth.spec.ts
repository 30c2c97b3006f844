import { Client } from '@langchain/langgraph-sdk';
import { SignJWT } from 'jose';
import { testPostgres } from '#lib/testing';
import { JWT_AGENT, ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { testServer } from '../testdata/test-server.js';

const postgres = testPostgres();
const SECRET = 'a secret of at least thirty-two bytes';
const server = testServer({ folder: JWT_AGENT, env: { JWT_SECRET: SECRET } });

interface Token {
  readonly sub: string;
  readonly scope?: string;
  readonly audience?: string;
  readonly secret?: string;
  readonly expires?: string;
}

async function clientOf({
  sub,
  scope,
  audience = 'agent',
  secret = SECRET,
  expires = '1h',
}: Token): Promise<Client> {
  const token = await new SignJWT({ name: sub.toUpperCase(), ...(scope ? { scope } : {}) })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(sub)
    .setAudience(audience)
    .setExpirationTime(expires)
    .sign(new TextEncoder().encode(secret));
  return new Client({
    apiUrl: server.url,
    apiKey: null,
    callerOptions: { maxRetries: 0 },
    defaultHeaders: { authorization: `Bearer ${token}` },
  });
}

const hello = { input: { messages: [{ role: 'user', content: 'hello' }] } };

describe('the example with JSON Web Tokens', () => {
  it('greets each of two users by name, and keeps them apart', async () => {
    const [alice, bob, support] = await Promise.all([
      clientOf({ sub: 'alice' }),
      clientOf({ sub: 'bob' }),
      clientOf({ sub: 'sue', scope: 'support' }),
    ]);
    const { thread_id } = await alice.threads.create();
    for (const count of [1, 2]) {
      const { messages } = (await alice.runs.wait(thread_id, 'agent', hello)) as {
        messages: { content: string }[];
      };
      expect(messages.at(-1)?.content).toBe(`Hello ALICE, message ${count} of yours.`);
    }
    await expect(bob.runs.wait(thread_id, 'agent', hello)).rejects.toMatchObject({ status: 404 });
    await expect(bob.threads.getState(thread_id)).rejects.toMatchObject({ status: 404 });
    expect(await bob.threads.search()).toEqual([]);
    expect(await support.threads.search()).toHaveLength(1);
    await expect(bob.assistants.create({ graphId: 'agent' })).rejects.toMatchObject({ status: 403 });
    await expect(support.assistants.create({ graphId: 'agent' })).resolves.toBeDefined();
    await alice.store.putItem(['likes'], 'tea', { yes: true });
    expect(await bob.store.getItem(['likes'], 'tea')).toBeNull();
    expect(await alice.store.getItem(['likes'], 'tea')).toMatchObject({ namespace: ['alice', 'likes'] });
  });

  it.each<[string, Partial<Token>]>([
    ['is expired', { expires: '-1m' }],
    ['is signed with another secret', { secret: 'another secret of at least 32 bytes' }],
    ['is meant for another service', { audience: 'mail' }],
  ])('refuses a token that %s', async (_title, wrong) => {
    const client = await clientOf({ sub: 'alice', ...wrong });
    await expect(client.threads.search()).rejects.toMatchObject({ status: 401 });
  });
});

describe('an agent whose handlers do not load', () => {
  it('ends with the code of a graph that does not load', async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    expect(await ServerProcess.startAndEnd({ uri, folder: JWT_AGENT })).toBe(78);
  });
});
