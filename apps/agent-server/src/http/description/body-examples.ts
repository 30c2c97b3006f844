const ID = '01a21c0e-37ca-7422-87fe-91720d2bd592';
const QUESTION = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
const RUN = { assistant_id: 'agent', input: QUESTION };
const DAILY = { ...RUN, schedule: '0 9 * * *' };
const PLACE = { namespace: ['users', 'ada'], key: 'profile' };
const SENT = {
  jsonrpc: '2.0',
  id: '1',
  method: 'message/send',
  params: {
    message: { role: 'user', messageId: '1', parts: [{ kind: 'text', text: 'what is 2 + 40?' }] },
  },
};

/** A body for each route that takes one; its shape allows it. */
export const BODY_EXAMPLES: Readonly<Record<string, unknown>> = {
  'POST /assistants': { graph_id: 'agent', name: 'short answers', metadata: { team: 'support' } },
  'POST /assistants/search': { graph_id: 'agent', limit: 10 },
  'POST /assistants/count': { graph_id: 'agent' },
  'PATCH /assistants/:assistant_id': { name: 'shorter answers' },
  'POST /assistants/:assistant_id/versions': { limit: 10 },
  'POST /assistants/:assistant_id/latest': { version: 1 },

  'POST /threads': { metadata: { person: 'ada' } },
  'POST /threads/search': { metadata: { person: 'ada' }, limit: 10 },
  'POST /threads/count': { metadata: { person: 'ada' } },
  'PATCH /threads/:thread_id': { metadata: { topic: 'sums' } },
  'POST /threads/erase': { metadata: { person: 'ada' }, dry_run: true },
  'POST /threads/prune': { thread_ids: [ID], strategy: 'keep_latest' },
  'POST /threads/:thread_id/state/checkpoint': { checkpoint: { checkpoint_id: ID } },
  'POST /threads/:thread_id/state': { values: QUESTION },
  'PATCH /threads/:thread_id/state': { metadata: { checked: true } },
  'POST /threads/:thread_id/history': { limit: 10 },
  'POST /threads/:thread_id/commands': { id: 1, method: 'run.start', params: RUN },
  'POST /threads/:thread_id/stream/events': { channels: ['messages'] },

  'POST /threads/:thread_id/runs': RUN,
  'POST /threads/:thread_id/runs/wait': RUN,
  'POST /threads/:thread_id/runs/stream': { ...RUN, stream_mode: ['messages'] },
  'POST /runs': RUN,
  'POST /runs/wait': RUN,
  'POST /runs/stream': { ...RUN, stream_mode: ['messages'] },
  'POST /runs/batch': [RUN],
  'POST /runs/cancel': { status: 'pending' },

  'POST /runs/crons': DAILY,
  'POST /threads/:thread_id/runs/crons': DAILY,
  'POST /runs/crons/search': { limit: 10 },
  'POST /runs/crons/count': { assistant_id: ID },
  'PATCH /runs/crons/:cron_id': { enabled: false },

  'PUT /store/items': { ...PLACE, value: { name: 'Ada' } },
  'DELETE /store/items': PLACE,
  'POST /store/items/search': { namespace_prefix: ['users'], limit: 10 },
  'POST /store/namespaces': { prefix: ['users'] },

  'POST /a2a/:assistant_id': SENT,
  'POST /mcp': { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  'POST /ui/:assistant_id': { name: 'card' },
};
