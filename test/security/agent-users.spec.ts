import { randomUUID } from 'node:crypto';
import { testPostgres, waitFor } from '#lib/testing';
import { GUARDED_AGENT, ServerProcess } from '../../apps/agent-server/testdata/start-server.js';
import {
  agentRequests,
  ATTACKED_ROUTES,
  LASTING,
  LISTED_ROUTES,
  REGISTERED_ROUTES,
  SOCKET,
  type AgentRequest,
} from './agent-routes.js';
import { pageOf } from './agent-requests.js';
import type { Named } from './rest-requests.js';
import type { TenantIds } from './tenant.js';
import { Transcript, type HttpAnswer } from './transcript.js';
import { unknownLike, withoutNames } from './unknown-ids.js';

type Json = Readonly<Record<string, unknown>>;

/** Stands in everything that the first user makes. */
const MARK = `secret-${randomUUID().slice(0, 8)}`;

const postgres = testPostgres();
const transcript = new Transcript();
let server: ServerProcess;
let alice: Named;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  server = await ServerProcess.start({ uri, folder: GUARDED_AGENT });
  alice = { ids: await everythingOf('alice'), project: 'no project of REST' };
});

afterAll(() => server?.stop());

function send(token: string, { method, path, body }: AgentRequest, isLasting = false): Promise<HttpAnswer> {
  const headers = { authorization: `Bearer ${token}` };
  return transcript.call(method, server.url + path, { headers, body, isLasting });
}

async function made(token: string, method: string, path: string, body?: unknown): Promise<Json> {
  const { status, text } = await send(token, { method, path, body });
  if (status > 299) throw new Error(`${method} ${path}: ${status} ${text}`);
  return text === '' ? {} : (JSON.parse(text) as Json);
}

const input = { messages: [{ role: 'user', content: MARK }] };
/** Receiver of notifications, which is never called. */
const RECEIVER = 'https://192.0.2.1/';
const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });

/** One of everything that a caller can make; the run on its thread is a task of the A2A protocol, too. */
async function everythingOf(token: string): Promise<TenantIds> {
  const { assistant_id } = await made(token, 'POST', '/assistants', { graph_id: 'agent', name: MARK });
  const { thread_id } = await made(token, 'POST', '/threads', { metadata: { mark: MARK } });
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: MARK }], contextId: thread_id };
  const sent = await made(token, 'POST', '/a2a/agent', rpc('SendMessage', { message }));
  const { task } = sent['result'] as { task: { id: string; contextId: string } };
  if (task.contextId !== thread_id) throw new Error('the task is on another thread');
  const state = await made(token, 'GET', `/threads/${String(thread_id)}/state`);
  await made(token, 'PUT', '/store/items', { namespace: ['kept'], key: 'item', value: { mark: MARK } });
  const cron = { assistant_id: 'agent', schedule: '@yearly', input, enabled: false };
  const { cron_id } = await made(token, 'POST', '/runs/crons', { ...cron, metadata: { mark: MARK } });
  const { checkpoint_id } = state['checkpoint'] as { checkpoint_id: string };
  const ids = { assistant_id, thread_id, thread_run_id: task.id, cron_id, checkpoint_id };
  return ids as unknown as TenantIds;
}

/** What the first user sees of its own. */
async function viewOfAlice(): Promise<string> {
  const { thread_id } = alice.ids;
  const everything = { limit: 100 };
  const seen: readonly AgentRequest[] = [
    { method: 'POST', path: '/threads/search', body: everything },
    { method: 'POST', path: '/assistants/search', body: everything },
    { method: 'POST', path: '/runs/crons/search', body: everything },
    { method: 'POST', path: '/store/items/search', body: everything },
    { method: 'GET', path: `/threads/${thread_id}/history` },
    { method: 'GET', path: `/threads/${thread_id}/runs` },
    { method: 'POST', path: '/a2a/agent', body: rpc('ListTasks', { includeArtifacts: true }) },
  ];
  const answers = await Promise.all(seen.map((one) => send('alice', one)));
  return answers.map(({ status, text }) => `${status} ${text}`).join('\n');
}

/** Requests whose ids lie where the table of routes has none, because they would do harm to its own workspace. */
function moreRequests(name: string, { ids }: Named): AgentRequest[] {
  const to = (path: string, bodies: readonly unknown[]): AgentRequest[] =>
    bodies.map((body) => ({ method: 'POST', path, body }));
  const { thread_run_id: id, thread_id: contextId } = ids;
  const old = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
  const current = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
  switch (name) {
    case 'POST /a2a/:assistant_id':
      return [
        ...to('/a2a/agent', [
          rpc('GetTask', { id }),
          rpc('GetTask', { id, contextId }),
          rpc('CancelTask', { id }),
          rpc('tasks/resubscribe', { id }),
          rpc('ListTasks', { includeArtifacts: true, historyLength: 10 }),
          rpc('message/send', { message: { ...old, contextId } }),
          rpc('message/stream', { message: { ...old, contextId } }),
          rpc('message/send', { message: { ...old, contextId, taskId: id } }),
          rpc('SendMessage', { message: { ...current, contextId } }),
          rpc('SendMessage', { message: { ...current, taskId: id } }),
          rpc('SendStreamingMessage', { message: { ...current, taskId: id } }),
          rpc('SendMessage', { message: { ...current, referenceTaskIds: [id] } }),
          rpc('CreateTaskPushNotificationConfig', { taskId: id, id, url: RECEIVER }),
          rpc('GetTaskPushNotificationConfig', { taskId: id, id }),
          rpc('ListTaskPushNotificationConfigs', { taskId: id }),
          rpc('DeleteTaskPushNotificationConfig', { taskId: id, id }),
          rpc('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: { url: RECEIVER } }),
        ]),
        ...to(`/a2a/${ids.assistant_id}`, [rpc('GetTask', { id }), rpc('SendMessage', { message: current })]),
      ];
    case 'POST /ag-ui/:assistant_id':
      return to(`/ag-ui/${ids.assistant_id}`, [pageOf(contextId)]);
    case 'POST /mcp':
      return to('/mcp', [rpc('tools/list', {})]);
    case 'POST /runs/cancel':
      return to('/runs/cancel', [{ status: 'all' }, { status: 'all', thread_id: contextId }]);
    case 'POST /threads/prune':
      return to('/threads/prune', [{ thread_ids: [contextId], strategy: 'delete' }]);
    case 'POST /threads/erase':
      return to('/threads/erase', [
        { metadata: { owner: 'alice' }, namespaces: [['alice']] },
        { metadata: { mark: MARK }, namespaces: [['alice']], dry_run: true },
      ]);
    case 'POST /threads/search':
      return to('/threads/search', [{ metadata: { mark: MARK } }, { metadata: { owner: 'alice' } }]);
    case 'POST /store/items/search':
      return to('/store/items/search', [{ namespace_prefix: ['alice'] }]);
    default:
      return [];
  }
}

let users = 0;

function newUser(): string {
  return `user_${++users}`;
}

/** An answer without its user, and without what depends on how busy the server is. */
function withoutChance(text: string, user: string): string {
  return text.replaceAll(user, '<user>').replace(/"status":"(pending|running)"/g, '"status":"<begun>"');
}

/** Creating what exists for somebody else is refused; with ids of nobody it is created. */
const CREATING = ['POST /assistants', 'POST /threads'];

/** Numbers of the server, which change from one request to the next. */
const NUMBERS = ['GET /metrics'];

describe('an agent with handlers for each of its users', () => {
  it('has a row here for every route of the server', () => {
    expect(LISTED_ROUTES).toEqual(REGISTERED_ROUTES);
  });

  it.each(ATTACKED_ROUTES)('shows and changes nothing of another user: %s', async (name) => {
    const before = await viewOfAlice();
    const nobody = unknownLike(alice);
    const isLasting = LASTING.includes(name);
    const all = (of: Named): AgentRequest[] => [...agentRequests(name, of), ...moreRequests(name, of)];
    const [foreign, missing] = [all(alice), all(nobody)];
    // users who have made nothing yet, so that their lists are alike
    const [mallory, nina] = [newUser(), newUser()];
    for (const [at, request] of foreign.entries()) {
      const seen = await send(mallory, request, isLasting);
      expect(seen.text).not.toContain(MARK);
      const expected = await send(nina, missing[at] ?? request, isLasting);
      if (NUMBERS.includes(name)) continue;
      if (CREATING.includes(name)) expect([seen.status, expected.status]).toEqual([409, 200]);
      else
        expect(withoutChance(withoutNames(seen, alice), mallory)).toBe(
          withoutChance(withoutNames(expected, nobody), nina),
        );
    }
    expect(await viewOfAlice()).toBe(before);
  });

  it('counts nothing of another user', async () => {
    const user = newUser();
    const count = async (token: string, path: string): Promise<number> =>
      Number((await send(token, { method: 'POST', path, body: {} })).text);
    expect(await count(user, '/threads/count')).toBe(0);
    expect(await count(user, '/runs/crons/count')).toBe(0);
    for (const path of ['/threads/search', '/runs/crons/search']) {
      const { headers, text } = await send(user, { method: 'POST', path, body: {} });
      expect([path, text, headers['x-pagination-total']]).toEqual([path, '[]', '0']);
    }
    expect(await count('alice', '/threads/count')).toBeGreaterThan(0);
    expect(await count('alice', '/assistants/count')).toBe((await count(user, '/assistants/count')) + 1);
  });

  it.each(LASTING)('streams nothing of another user while it runs: %s', async (name) => {
    const [request] = agentRequests(name, alice);
    const { method = '', path = '', body } = request ?? {};
    const leaving = new AbortController();
    const listen = async (token: string): Promise<{ status: number; heard: () => string }> => {
      const answer = await fetch(server.url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: leaving.signal,
      });
      let text = '';
      const read = async (): Promise<void> => {
        for await (const chunk of answer.body ?? []) text += Buffer.from(chunk as Uint8Array).toString();
      };
      void read().catch(() => undefined);
      return { status: answer.status, heard: () => text };
    };
    const [own, foreign] = [await listen('alice'), await listen('mallory')];
    const commands = `/threads/${alice.ids.thread_id}/commands`;
    const start = { id: 1, method: 'run.start', params: { assistant_id: 'agent', input } };
    await made('alice', 'POST', commands, start);
    await waitFor(() => own.heard().includes(MARK));
    leaving.abort();
    expect(foreign.heard()).not.toContain(MARK);
    expect(foreign.heard()).not.toMatch(/^(event|data|id):/m);
  });

  // The rows above would hold on a server that refuses everything: each route opens to whom it belongs. Runs last.
  it.each(ATTACKED_ROUTES.filter((name) => name !== SOCKET))('answers its owner: %s', async (name) => {
    for (const request of agentRequests(name, alice)) {
      const { status, text } = await send('alice', request, LASTING.includes(name));
      if (!CREATING.includes(name))
        expect([request.path, status, text]).toEqual([request.path, Math.min(status, 399), text]);
    }
  });
});
