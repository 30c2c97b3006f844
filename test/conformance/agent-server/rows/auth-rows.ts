import { DefaultAgentCardResolver as OlderResolver } from 'a2a-sdk-0/client';
import { DefaultAgentCardResolver } from 'a2a-sdk-1/client';
import { fetchWith, newestClient } from '../../../../apps/agent-server/testdata/a2a-clients.js';
import { send } from '../clients/raw-http.js';
import { sdkClient, statusOf } from '../clients/sdk-client.js';
import { rowsOf, type Target } from '../target.js';

/** A caller of the agent whose handlers take any bearer token for the name of a person. */
function callerOf({ guardedUrl = '' }: Target, token?: string): Pick<Target, 'url' | 'headers'> {
  return { url: guardedUrl, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } };
}

export const AUTH_ROWS = rowsOf(
  'an agent with handlers of its own',
  {
    'refuses callers without a valid token with 401 and the detail of the handler': async (target) => {
      const asked = { body: {} };
      const none = await send(callerOf(target), 'POST', '/threads/search', asked);
      expect([none.status, none.body]).toEqual([401, { detail: 'Show a token' }]);
      expect(none.headers.get('www-authenticate')).toBe('Bearer');
      expect((await send(callerOf(target, 'expired'), 'POST', '/threads/search', asked)).status).toBe(401);
      expect((await send(callerOf(target, 'teapot'), 'POST', '/threads/search', asked)).status).toBe(418);
      expect((await send(callerOf(target), 'GET', '/ok')).status).toBe(200);
    },
    'answers 503 to a caller whom the handler does not judge in time, and serves others': async (target) => {
      const asked = { body: {} };
      const hanging = send(callerOf(target, 'hang'), 'POST', '/threads/search', asked);
      expect((await send(callerOf(target, 'ada'), 'POST', '/threads/search', asked)).status).toBe(200);
      const { status, body } = await hanging;
      expect([status, body]).toEqual([503, { detail: expect.any(String) as unknown }]);
    },
    'hands the graph its caller': async (target) => {
      const { runs } = sdkClient(callerOf(target, 'ada'));
      const values = (await runs.wait(null, 'who', { input: {} })) as { seen: Record<string, unknown> };
      for (const name of ['langgraph_auth_user', 'graph_auth_user'])
        expect(values.seen[name]).toMatchObject({ identity: 'ada', team: 'a' });
      expect(values.seen['langgraph_auth_user_id']).toBe('ada');
    },
    'asks who loads a component, and not who loads its script': async (target) => {
      const asked = { body: { name: 'badge' } };
      expect((await send(callerOf(target), 'POST', '/ui/who', asked)).status).toBe(401);
      expect((await send(callerOf(target, 'ada'), 'POST', '/ui/who', asked)).status).toBe(200);
      const script = await send(callerOf(target), 'GET', '/ui/who/entrypoint.js');
      expect([script.status, script.text]).toEqual([200, expect.stringContaining('__LGUI_who')]);
      const own = await sdkClient(callerOf(target, 'ada')).assistants.create({ graphId: 'who' });
      const path = `/ui/${own.assistant_id}`;
      expect((await send(callerOf(target, 'ada'), 'POST', path, asked)).status).toBe(200);
      expect((await send(callerOf(target, 'bob'), 'POST', path, asked)).status).toBe(404);
    },
    'describes to A2A clients of both versions how people log in': async (target) => {
      const ada = callerOf(target, 'ada');
      const path = '/.well-known/agent-card.json?assistant_id=talk';
      const fetchImpl = fetchWith(ada.headers);
      const flow = { authorizationUrl: 'https://id.test/login', tokenUrl: 'https://id.test/token' };
      const older = await new OlderResolver({ fetchImpl }).resolve(ada.url, path);
      expect([older.securitySchemes, older.security]).toMatchObject([
        {
          OAuth: { type: 'oauth2', flows: { authorizationCode: flow, clientCredentials: {} } },
          Admin: { type: 'http', scheme: 'bearer' },
        },
        [{ OAuth: ['read'] }],
      ]);
      const newer = await new DefaultAgentCardResolver({ fetchImpl }).resolve(ada.url, path);
      const scopes = { read: 'Read all' };
      const code = { $case: 'authorizationCode', value: { ...flow, scopes } };
      expect([newer.securitySchemes, newer.securityRequirements]).toMatchObject([
        {
          OAuth: { scheme: { $case: 'oauth2SecurityScheme', value: { flows: { flow: code } } } },
          Admin: { scheme: { $case: 'httpAuthSecurityScheme', value: { scheme: 'bearer' } } },
        },
        [{ schemes: { OAuth: { list: ['read'] } } }],
      ]);
      const headers = { 'a2a-version': '1.0' };
      const { body } = await send(ada, 'GET', path, { headers });
      expect(body).toMatchObject({
        securitySchemes: { Admin: { httpAuthSecurityScheme: { scheme: 'bearer' } } },
      });
      expect(JSON.stringify(body)).not.toMatch(/"type"|"security"|clientCredentials|apiKey/);
      const client = await newestClient(ada.url, path, false, ada.headers);
      expect(await client.send({ parts: [{ text: 'hello' }] })).toMatchObject({ state: 'completed' });
    },
    'shows people only what is theirs': async (target) => {
      const [ada, bob] = [sdkClient(callerOf(target, 'ada')), sdkClient(callerOf(target, 'bob'))];
      const { thread_id: id } = await ada.threads.create({ metadata: { mark: 'mine' } });
      expect((await ada.threads.get(id)).metadata).toMatchObject({ owner: 'ada' });
      expect(await statusOf(bob.threads.get(id))).toBe(404);
      expect(await statusOf(bob.runs.create(id, 'who', { input: {} }))).toBe(404);
      expect(await bob.threads.search({ metadata: { mark: 'mine' } })).toEqual([]);
      await ada.runs.wait(id, 'who', { input: {} });
      expect(await statusOf(bob.threads.getState(id))).toBe(404);
      expect(await statusOf(bob.threads.delete(id))).toBe(404);
    },
    'refuses what a handler forbids with 403': async (target) => {
      const { threads } = sdkClient(callerOf(target, 'eve:keep'));
      const { thread_id: id } = await threads.create();
      expect(await statusOf(threads.delete(id))).toBe(403);
    },
    'keeps the items of people apart': async (target) => {
      const [ada, bob] = [sdkClient(callerOf(target, 'ada')), sdkClient(callerOf(target, 'bob'))];
      await ada.store.putItem(['notes'], 'one', { text: 'mine' });
      expect((await ada.store.getItem(['notes'], 'one'))?.namespace).toEqual(['ada', 'notes']);
      expect(await bob.store.getItem(['notes'], 'one')).toBeNull();
      expect((await bob.store.searchItems([])).items).toEqual([]);
    },
  },
  'guarded',
);
