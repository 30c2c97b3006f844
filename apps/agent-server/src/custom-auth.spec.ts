import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@langchain/langgraph-sdk';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { itLong, sendRaw, testPostgres } from '#lib/testing';
import { GUARDED_AGENT, GUARDED_PYTHON_AGENT, ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: handlers in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const NO_USER =
  'The authentication handler of this agent named no user: "identity" must be a text that is not empty and has no NUL';
const TENANT = '11111111-1111-4111-8111-111111111111';

/** The same handlers in each language. */
const AGENTS: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ['JavaScript', GUARDED_AGENT, {}],
  ...(python ? [['Python', GUARDED_PYTHON_AGENT, { AGENTPLANE_PYTHON: python }] as const] : []),
];

describe.each(AGENTS)('an agent in %s', (_language, folder, env) => {
  const postgres = testPostgres();
  let server: ServerProcess;
  let pool: Pool;
  // verifies keys as the api does
  const platform = createServer(({ headers }, response) => {
    response.statusCode = headers['x-api-key'] === 'good' ? 200 : 401;
    response.end(JSON.stringify({ tenant_id: TENANT, key_id: 'k1', scope: 'workspace' }));
  });

  beforeAll(async () => {
    await once(platform.listen(0, '127.0.0.1'), 'listening');
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    const keys = {
      AGENTPLANE_AUTH: 'key',
      AGENTPLANE_AUTH_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`,
      AGENTPLANE_TENANT_ID: TENANT,
    };
    server = await ServerProcess.start({ uri, folder, env: { ...keys, ...env } });
    pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
  });

  afterAll(async () => {
    await pool?.end();
    await server?.stop('SIGKILL');
    platform.close();
  });

  function clientOf(token: string | undefined, headers: Record<string, string> = {}): Client {
    return new Client({
      apiUrl: server.url,
      apiKey: null,
      callerOptions: { maxRetries: 0 },
      defaultHeaders: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
    });
  }

  async function answer(
    token: string | undefined,
    path = '/threads/search',
    method = 'POST',
  ): Promise<Response> {
    return fetch(server.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      ...(method === 'POST' ? { body: '{}' } : {}),
    });
  }

  async function judged(token: string | undefined): Promise<[number, unknown]> {
    const response = await answer(token);
    return [response.status, await response.json()];
  }

  /** The SDK has another name for it in its types than on the wire. */
  const KEEP = { onCompletion: 'keep' as 'complete' };

  const NOT_FOUND = { status: 404 };

  it('asks for the thread that a run makes', async () => {
    const [own, limited] = [clientOf('tina'), clientOf('tina:threadless')];
    const { thread_id: id } = await own.threads.create();
    const message = { input: { messages: [{ role: 'user', content: 'hello' }] } };
    const made = { ...message, ifNotExists: 'create' as const };
    const batch = [{ ...message, assistantId: 'talk', on_completion: 'keep' }];
    await expect(limited.runs.wait(randomUUID(), 'talk', made)).rejects.toThrow('403');
    await expect(limited.runs.wait(null, 'talk', { ...message, ...KEEP })).rejects.toThrow('403');
    await expect(limited.runs.createBatch(batch)).rejects.toThrow('403');
    const parts = [{ kind: 'text', text: 'a' }];
    const params = { message: { kind: 'message', messageId: 'm', role: 'user', parts } };
    const a2a = await fetch(`${server.url}/a2a/talk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer tina:threadless' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params }),
    });
    expect(await a2a.text()).toMatch(/may not do this/);
    const daily = { schedule: '@daily', onRunCompleted: 'keep' } as const;
    await expect(limited.crons.create('talk', { ...message, ...daily })).rejects.toThrow('403');
    const cron = await limited.crons.create('talk', { ...message, schedule: '@daily' });
    const keep = { onRunCompleted: 'keep' } as const;
    await expect(limited.crons.update(cron.cron_id, keep)).rejects.toThrow('403');
    await own.crons.update(cron.cron_id, keep);
    await expect(limited.crons.update(cron.cron_id, { metadata: { a: 1 } })).rejects.toThrow('403');
    await limited.crons.update(cron.cron_id, { enabled: false });
    await own.crons.delete(cron.cron_id);
    expect(await own.threads.search({ limit: 10 })).toHaveLength(1);
    await limited.runs.wait(id, 'talk', made);
    await limited.runs.wait(null, 'talk', message);
    await own.runs.wait(randomUUID(), 'talk', made);
    expect(await own.threads.search({ limit: 10 })).toHaveLength(2);
  });

  describe('an authentication handler', () => {
    it.each<[string, string | undefined, number, string]>([
      ['no token', undefined, 401, 'Show a token'],
      ['a token whose library refuses it', 'expired', 401, 'The token is not valid'],
      ['an exception with a status of its own', 'teapot', 418, 'I am a teapot'],
      ['an exception whose message is no text', 'wordy', 403, 'Forbidden'],
      ['an error', 'broken', 500, 'The authentication handler of this agent failed; its log has the reason'],
      ['a user without an identity', 'nobody', 401, NO_USER],
      ['an empty identity', 'no-subject', 401, NO_USER],
      ['an identity that is an object', 'odd-subject', 401, NO_USER],
      ['an identity with NUL', 'nul-subject', 401, NO_USER],
    ])('answers %s with its status and detail', async (_title, token, status, detail) => {
      expect(await judged(token)).toEqual([status, { detail }]);
    });

    it('lets no user of its own read the metrics, which count the runs of all', async () => {
      expect((await answer('alice', '/metrics', 'GET')).status).toBe(401);
      const withKey = await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': 'good' } });
      expect([withKey.status, await withKey.text()]).toEqual([200, expect.stringContaining('# HELP')]);
    });

    it('passes on the headers of its exception', async () => {
      expect((await answer(undefined)).headers.get('www-authenticate')).toBe('Bearer');
      expect((await answer('teapot')).headers.get('x-tea')).toBe('green');
    });

    it('logs why it failed, once', () => {
      const lines = server.log.filter((line) => JSON.stringify(line).includes('hunter2'));
      expect(lines).toHaveLength(1);
    });

    // ten seconds, which a row of conformance waits for with the same handlers in JavaScript
    itLong('answers 503 when it hangs, while others are served', async () => {
      const hanging = answer('hang');
      expect((await answer('alice')).status).toBe(200);
      const { status } = await hanging;
      expect(status).toBe(503);
    });

    it.each<[string, string, number, string?]>([
      ['POST', '/store/items/search', 403],
      ['POST', '/store/namespaces', 403, 'a/'],
      ['POST', '/%73tore/items/search', 403],
      ['POST', '//store/items/search', 404],
      ['POST', '/%2e%2e/store/items/search', 400],
      ['POST', '/x\\..\\store/items/search', 400],
      ['GET', '/books/{x}', 404],
    ])('judges the path that is served: %s %s', async (method, path, status, host = 'a') => {
      const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer alice:nostore\r\nconnection: close`;
      const body =
        method === 'POST' ? 'content-type: application/json\r\ncontent-length: 2\r\n\r\n{}' : '\r\n';
      const found = await sendRaw(server.port, `${head}\r\n${body}`);
      expect([path, found.status]).toEqual([path, status]);
    });

    it('appears in the description of the routes as the settings of the agent have it', async () => {
      const document = (await (await answer(undefined, '/openapi.json', 'GET')).json()) as {
        components: { securitySchemes: object };
        paths: Record<string, Record<string, object>>;
      };
      expect(Object.keys(document.components.securitySchemes)).toEqual(['OAuth', 'Admin']);
      expect(document).toMatchObject({
        security: [{ OAuth: ['read'] }],
        paths: { '/ok': { get: { security: [] } } },
      });
      const thread = document.paths['/threads/{thread_id}'];
      expect(thread?.['delete']).toMatchObject({ security: [{ Admin: [] }] });
      expect(thread?.['get']).not.toHaveProperty('security');
    });

    it('lets probes through', async () => {
      const [ok, info] = await Promise.all([
        answer(undefined, '/ok', 'GET'),
        answer(undefined, '/info', 'GET'),
      ]);
      expect([ok.status, info.status]).toEqual([200, 200]);
    });
  });

  describe('the caller as a graph sees it', () => {
    const input = { seen: {} };

    async function seenBy(client: Client, more: object = {}): Promise<Record<string, unknown>> {
      const { seen } = (await client.runs.wait(null, 'who', { input, ...more })) as {
        seen: Record<string, unknown>;
      };
      return seen;
    }

    it('names the user of the handler in both ways', async () => {
      const seen = await seenBy(clientOf('alice:read'));
      const user = {
        identity: 'alice',
        display_name: 'alice',
        is_authenticated: true,
        permissions: ['read'],
        secret: 'secret-of-alice',
        team: 'a',
      };
      expect(seen).toMatchObject({
        langgraph_auth_user: user,
        graph_auth_user: user,
        langgraph_auth_user_id: 'alice',
        langgraph_auth_permissions: ['read'],
      });
      expect((await seenBy(clientOf('text')))['langgraph_auth_user']).toMatchObject({ identity: 'mallory' });
    });

    it('cannot be forged by configuration, context, headers or an assistant', async () => {
      const forged = {
        langgraph_auth_user: { identity: 'root' },
        graph_auth_user: { identity: 'root' },
        langgraph_auth_user_id: 'root',
        langgraph_auth_permissions: ['admin'],
      };
      const client = clientOf('alice', {
        langgraph_auth_user_id: 'root',
        'x-langgraph_auth_user_id': 'root',
      });
      const { assistant_id } = await client.assistants.create({
        graphId: 'who',
        config: { configurable: forged },
        context: forged,
      });
      const asked = [{ config: { configurable: forged } }, { context: forged }, {}];
      for (const more of asked) {
        const { seen } = (await client.runs.wait(null, assistant_id, { input, ...more })) as {
          seen: Record<string, unknown>;
        };
        expect(seen).toMatchObject({
          langgraph_auth_user_id: 'alice',
          langgraph_auth_permissions: [],
          context: {},
        });
        expect(seen['graph_auth_user']).toMatchObject({ identity: 'alice' });
        expect(JSON.stringify(seen['context'])).not.toContain('root');
      }
    });

    it('appears in no answer about runs, threads and states', async () => {
      const client = clientOf('alice', { 'x-token': 'secret-of-alice' });
      const { thread_id } = await client.threads.create();
      const made = await client.runs.create(thread_id, 'slow', { input: { waitMs: 1 } });
      await client.runs.join(thread_id, made.run_id);
      const shown = [
        made,
        await client.runs.get(thread_id, made.run_id),
        await client.runs.list(thread_id),
        await client.threads.get(thread_id),
        await client.threads.getState(thread_id),
        await client.threads.getHistory(thread_id),
      ];
      expect(JSON.stringify(shown)).not.toContain('secret-of-alice');
      // nor in any other table: a value that is not in the row of the run cannot be shown by mistake
      const { rows } = await pool.query<{ name: string }>(
        `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'agentplane'`,
      );
      const found: string[] = [];
      for (const { name } of rows) {
        const text = `SELECT 1 FROM agentplane.${name} t WHERE t::text LIKE '%secret-of-alice%' LIMIT 1`;
        if ((await pool.query(text)).rows.length > 0) found.push(name);
      }
      expect(found).toEqual(['runs']);
    });
  });

  describe('an authorization handler', () => {
    it('stamps what is created, and lets each caller see its own', async () => {
      const [alice, bob, admin] = [clientOf('alice'), clientOf('bob'), clientOf('root:admin')];
      const thread = await alice.threads.create();
      expect(thread.metadata).toMatchObject({ owner: 'alice' });
      await expect(bob.threads.get(thread.thread_id)).rejects.toMatchObject(NOT_FOUND);
      expect(await bob.threads.search({ ids: [thread.thread_id] })).toEqual([]);
      expect(await admin.threads.get(thread.thread_id)).toMatchObject({ thread_id: thread.thread_id });
      await expect(
        bob.threads.create({ threadId: thread.thread_id, ifExists: 'do_nothing' }),
      ).rejects.toMatchObject({
        status: 409,
      });
      await expect(bob.threads.copy(thread.thread_id)).rejects.toMatchObject({ status: 409 });
      expect((await alice.threads.copy(thread.thread_id)) as object).toMatchObject({
        metadata: { owner: 'alice' },
      });
    });

    it('keeps a caller from giving what it owns away', async () => {
      const alice = clientOf('alice');
      const { thread_id } = await alice.threads.create({ metadata: { owner: 'bob' } });
      expect(await alice.threads.update(thread_id, { metadata: { owner: 'bob' } })).toMatchObject({
        metadata: { owner: 'alice' },
      });
    });

    it('makes the thread of a run that of its caller', async () => {
      const [alice, bob] = [clientOf('alice'), clientOf('bob')];
      const threadId = crypto.randomUUID();
      await alice.runs.wait(threadId, 'slow', { input: { waitMs: 1 }, ifNotExists: 'create' });
      expect(await alice.threads.get(threadId)).toMatchObject({ metadata: { owner: 'alice' } });
      await expect(bob.runs.list(threadId)).rejects.toMatchObject(NOT_FOUND);
      await expect(
        bob.runs.wait(threadId, 'slow', { input: {}, ifNotExists: 'create' }),
      ).rejects.toMatchObject(NOT_FOUND);
      const kept = await alice.runs.create(null, 'slow', { input: { waitMs: 1 }, ...KEEP });
      expect(await alice.threads.get(kept.thread_id)).toMatchObject({ metadata: { owner: 'alice' } });
      const [made] = await alice.runs.createBatch([{ assistantId: 'slow', input: { waitMs: 60_000 } }]);
      await expect(bob.runs.cancel(made?.thread_id ?? '', made?.run_id ?? '')).rejects.toMatchObject(
        NOT_FOUND,
      );
      await alice.runs.cancel(made?.thread_id ?? '', made?.run_id ?? '');
    });

    it('hides the assistants of others, in runs too', async () => {
      const [alice, bob] = [clientOf('alice'), clientOf('bob')];
      const { assistant_id } = await alice.assistants.create({ graphId: 'slow' });
      await expect(bob.assistants.get(assistant_id)).rejects.toMatchObject(NOT_FOUND);
      await expect(bob.runs.wait(null, assistant_id, { input: { waitMs: 1 } })).rejects.toMatchObject(
        NOT_FOUND,
      );
      await alice.runs.wait(null, assistant_id, { input: { waitMs: 1 } });
      expect((await bob.assistants.search()).map((one) => one.assistant_id)).not.toContain(assistant_id);
    });

    it('hides the assistants of graphs from searches, which its filter does not match', async () => {
      const carol = clientOf('carol');
      expect(await carol.assistants.search()).toEqual([]);
      expect(await carol.assistants.count()).toBe(0);
      const own = await carol.assistants.create({ graphId: 'slow' });
      expect(await carol.assistants.search()).toMatchObject([{ assistant_id: own.assistant_id }]);
      await carol.runs.wait(null, 'slow', { input: { waitMs: 1 } });
    });

    it('refuses with 403 when it answers false', async () => {
      const keeper = clientOf('alice:keep');
      const { thread_id } = await keeper.threads.create();
      await expect(keeper.threads.delete(thread_id)).rejects.toMatchObject({ status: 403 });
      await expect(keeper.threads.prune([thread_id])).rejects.toMatchObject({ status: 403 });
      await clientOf('alice').threads.delete(thread_id);
    });

    it('lets nothing through when it fails, or answers a filter that cannot be applied', async () => {
      for (const permission of ['odd', 'broken', 'none'])
        await expect(clientOf(`alice:${permission}`).assistants.search()).rejects.toMatchObject({
          status: 500,
        });
      const causes = server.log
        .map((line) => JSON.stringify(line))
        .filter((line) => line.includes('assistants:search'));
      expect(causes.some((line) => line.includes('$like is not an operator'))).toBe(true);
    });

    it('makes who changes the runs of a cron their caller, who must reach the thread', async () => {
      const [alice, bob] = [clientOf('alice'), clientOf('bob:crons', { 'x-from': 'bob' })];
      const schedule = '@yearly';
      const { thread_id: threadId } = await alice.threads.create();
      const onThread = await alice.crons.createForThread(threadId, 'who', { schedule, input: {} });
      const { cron_id: cronId } = await alice.crons.create('who', { schedule, input: { waitMs: 1 } });
      const callerOf = async () => {
        const { rows } = await pool.query<{ of: string; from: string; user_id: string }>(
          `SELECT caller ->> 'langgraph_auth_user_id' AS of, caller ->> 'x-from' AS from, user_id
        FROM agentplane.crons WHERE cron_id = $1`,
          [cronId],
        );
        return rows[0];
      };
      await bob.crons.update(cronId, { schedule: '@monthly', enabled: true });
      await bob.crons.update(onThread.cron_id, { enabled: false });
      expect(await callerOf()).toEqual({ of: 'alice', from: null, user_id: 'alice' });
      await expect(bob.crons.update(onThread.cron_id, { input: { waitMs: 9 } })).rejects.toMatchObject(
        NOT_FOUND,
      );
      expect(await bob.crons.update(cronId, { input: { waitMs: 2 } })).toMatchObject({ user_id: 'bob' });
      expect(await callerOf()).toEqual({ of: 'bob', from: 'bob', user_id: 'bob' });
      expect(await alice.crons.update(cronId, { webhook: 'https://example.com/' })).toMatchObject({
        user_id: 'alice',
      });
    });

    it('moves items of the store where they belong', async () => {
      const [alice, bob, admin] = [clientOf('alice'), clientOf('bob'), clientOf('root:admin')];
      await alice.store.putItem(['notes'], 'one', { text: 'mine' });
      expect(await admin.store.getItem(['alice', 'notes'], 'one')).toMatchObject({ value: { text: 'mine' } });
      expect(await alice.store.getItem(['notes'], 'one')).toMatchObject({ value: { text: 'mine' } });
      expect(await bob.store.getItem(['notes'], 'one')).toBeNull();
      expect((await bob.store.searchItems(['notes'])).items).toEqual([]);
      expect((await alice.store.searchItems(['notes'])).items).toHaveLength(1);
      await alice.store.deleteItem(['notes'], 'one');
      expect(await alice.store.getItem(['notes'], 'one')).toBeNull();
    });

    it('takes no name with a period for a place below that of another', async () => {
      const [alice, other] = [clientOf('alice'), clientOf('alice.notes')];
      await alice.store.putItem(['notes', 'private'], 'one', { text: 'mine' });
      await expect(other.store.getItem(['private'], 'one')).rejects.toThrow(/422.*period/);
      await expect(other.store.putItem(['private'], 'one', { text: 'theirs' })).rejects.toThrow(
        /422.*period/,
      );
      await alice.store.deleteItem(['notes', 'private'], 'one');
    });
  });
});
