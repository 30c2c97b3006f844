import type { RouteRequest } from './rest-requests.js';

const NOTHING: RouteRequest = {};
const EMPTY: RouteRequest = { bodies: () => [{}] };

/** Runs of the thread `ids.thread_id`; elsewhere `run_id` is a run of the trace store. */
const RUN: RouteRequest = { path: ({ ids }) => ({ run_id: ids.thread_run_id }) };
const CANCEL: RouteRequest = { ...RUN, bodies: () => [{}] };

const input = { messages: [{ role: 'user', content: 'hello' }] };
/** Runs of a foreign assistant, and of the own graph with foreign ids wherever a body can name them. */
const CREATE_RUN: RouteRequest = {
  bodies: ({ ids }) => [
    { assistant_id: ids.assistant_id, input },
    {
      assistant_id: 'agent',
      input,
      config: {
        configurable: { thread_id: ids.thread_id, run_id: ids.thread_run_id, assistant_id: ids.assistant_id },
      },
    },
  ],
};
const CREATE_ON_THREAD: RouteRequest = { bodies: () => [{ assistant_id: 'agent', input }] };

/** The item that the tenant keeps. */
const ITEM = { namespace: ['kept'], key: 'item' };

const CREATE_CRON: RouteRequest = {
  bodies: () => [{ assistant_id: 'agent', schedule: '@yearly', input, enabled: false }],
};
const message = {
  kind: 'message',
  messageId: 'attack',
  role: 'user',
  parts: [{ kind: 'text', text: 'hello' }],
};
/** Calls of the own agent with foreign ids wherever a body can name them. */
const CALL_AGENT: RouteRequest = {
  path: () => ({ assistant_id: 'agent' }),
  bodies: ({ ids }) =>
    [
      ['tasks/get', { id: ids.thread_run_id }],
      ['tasks/cancel', { id: ids.thread_run_id }],
      ['SubscribeToTask', { id: ids.thread_run_id }],
      ['ListTasks', { contextId: ids.thread_id }],
      ['message/send', { message: { ...message, taskId: ids.thread_run_id } }],
    ].map(([method, params]) => ({ jsonrpc: '2.0', id: 1, method, params })),
};
/** A run for a page, on this thread. */
export function pageOf(threadId: string): object {
  const messages = [{ id: 'attack', role: 'user', content: 'hello' }];
  return { threadId, runId: 'run', state: {}, messages, tools: [], context: [] };
}
const CALL_TOOL: RouteRequest = {
  bodies: ({ ids }) => [
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: ids.assistant_id, arguments: input },
    },
  ],
};

/** What is sent to each route of the agent server; a route without an entry fails the matrix. */
export const AGENT_REQUESTS: Readonly<Record<string, RouteRequest>> = {
  'GET /metrics': NOTHING,
  'GET /threads/:thread_id': NOTHING,
  'GET /threads/:thread_id/storage': NOTHING,
  'GET /threads/:thread_id/state': NOTHING,
  'GET /threads/:thread_id/state/:checkpoint_id': NOTHING,
  'GET /threads/:thread_id/history': NOTHING,
  'GET /threads/:thread_id/runs': NOTHING,
  'GET /threads/:thread_id/runs/:run_id': RUN,
  'GET /threads/:thread_id/runs/:run_id/join': RUN,
  'GET /threads/:thread_id/runs/:run_id/stream': RUN,
  'GET /runs/crons/:cron_id': NOTHING,
  'GET /threads/:thread_id/stream': NOTHING,
  'GET /threads/:thread_id/stream/events': NOTHING,
  'POST /threads/:thread_id/stream/events': { bodies: () => [{ channels: ['values', 'lifecycle'] }] },
  'GET /runs/:run_id': RUN,
  'GET /runs/:run_id/join': RUN,
  'GET /runs/:run_id/stream': RUN,
  'GET /assistants/:assistant_id': NOTHING,
  'GET /assistants/:assistant_id/graph': NOTHING,
  'GET /assistants/:assistant_id/schemas': NOTHING,
  'GET /assistants/:assistant_id/subgraphs': NOTHING,
  'GET /assistants/:assistant_id/subgraphs/:namespace': { path: () => ({ namespace: 'model' }) },
  'POST /assistants/:assistant_id/versions': EMPTY,
  'GET /.well-known/agent-card.json': { query: 'assistant_id=agent' },
  'GET /a2a/:assistant_id/.well-known/agent-card.json': NOTHING,
  'POST /a2a/:assistant_id': CALL_AGENT,
  'POST /mcp': CALL_TOOL,
  'POST /ag-ui/:assistant_id': { bodies: ({ ids }) => [pageOf(ids.thread_id), pageOf('of a page')] },
  'GET /chat/threads': NOTHING,
  'GET /chat/threads/:thread_id': NOTHING,
  'POST /chat/threads': EMPTY,
  'POST /chat/threads/:thread_id': { bodies: () => [{ text: 'hello' }] },
  'POST /ui/:assistant_id': { bodies: () => [{ name: 'card' }] },
  'POST /assistants/count': EMPTY,
  'POST /assistants/search': EMPTY,
  'POST /runs/crons/search': EMPTY,
  'POST /runs/crons/count': EMPTY,
  'POST /threads/search': { bodies: ({ ids }) => [{}, { ids: [ids.thread_id] }] },
  'POST /threads/count': EMPTY,
  'POST /threads/:thread_id/history': EMPTY,
  'GET /store/items': { query: 'namespace=kept&key=item' },
  'POST /store/items/search': { bodies: () => [{}, { namespace_prefix: ['kept'] }] },
  'POST /store/namespaces': EMPTY,
  'POST /threads/:thread_id/state/checkpoint': {
    bodies: ({ ids }) => [{ checkpoint: { checkpoint_id: ids.checkpoint_id, checkpoint_ns: '' } }],
  },
  'POST /threads/:thread_id/state': { bodies: () => [{ values: { messages: [] }, as_node: 'model' }] },
  'PATCH /threads/:thread_id/state': { bodies: () => [{ metadata: { owner: 'attacker' } }] },
  'POST /threads/:thread_id/copy': NOTHING,
  'POST /threads/prune': {
    bodies: ({ ids }) => [{ thread_ids: [ids.thread_id], strategy: 'keep_latest' }],
  },
  'POST /threads/erase': {
    bodies: () => [
      { metadata: { owner: 'victim' }, namespaces: [['kept']] },
      { metadata: { mark: 'x' }, dry_run: true },
    ],
  },
  'POST /runs/cancel': {
    bodies: ({ ids }) => [{ thread_id: ids.thread_id, run_ids: [ids.thread_run_id] }],
  },
  'PATCH /runs/crons/:cron_id': { bodies: () => [{ metadata: { owner: 'attacker' } }] },
  'PATCH /assistants/:assistant_id': { bodies: () => [{ name: 'of the attacker' }] },
  'POST /assistants/:assistant_id/latest': { bodies: () => [{ version: 1 }] },
  'PATCH /threads/:thread_id': { bodies: () => [{ metadata: { owner: 'attacker' } }] },
  'POST /runs/crons': CREATE_CRON,
  'POST /threads/:thread_id/runs/crons': CREATE_CRON,
  'POST /threads/:thread_id/commands': {
    bodies: ({ ids }) => [
      { id: 1, method: 'state.get', params: {} },
      { id: 2, method: 'run.start', params: { assistant_id: ids.assistant_id, input } },
      { id: 3, method: 'input.respond', params: { interrupt_id: 'x', response: 1 } },
    ],
  },
  'POST /threads/:thread_id/runs': CREATE_ON_THREAD,
  'POST /threads/:thread_id/runs/wait': CREATE_ON_THREAD,
  'POST /threads/:thread_id/runs/stream': CREATE_ON_THREAD,
  'POST /threads/:thread_id/runs/:run_id/cancel': CANCEL,
  'POST /runs/:run_id/cancel': CANCEL,
  'POST /runs': CREATE_RUN,
  'POST /runs/wait': CREATE_RUN,
  'POST /runs/stream': CREATE_RUN,
  'POST /runs/batch': { bodies: ({ ids }) => [[{ assistant_id: ids.assistant_id, input }]] },
  'PUT /store/items': { bodies: () => [{ ...ITEM, value: { of: 'the attacker' } }] },
  'DELETE /store/items': { bodies: () => [ITEM] },
  'DELETE /runs/crons/:cron_id': NOTHING,
  'DELETE /threads/:thread_id/runs/:run_id': RUN,
  'DELETE /threads/:thread_id': NOTHING,
  'DELETE /assistants/:assistant_id': NOTHING,
  'POST /assistants': { bodies: ({ ids }) => [{ graph_id: 'agent', assistant_id: ids.assistant_id }] },
  'POST /threads': { bodies: ({ ids }) => [{ thread_id: ids.thread_id }] },
};
