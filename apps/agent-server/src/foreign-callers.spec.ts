import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { quietFor, testPostgres, waitFor } from '#lib/testing';
import { GUARDED_AGENT, GUARDED_PYTHON_AGENT, ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
if (!python)
  process.stderr.write('SKIPPED: foreign callers of Python: AGENTPLANE_TEST_PYTHON names no one\n');

const CANARY = 'only-for-alice';
const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
const said = (text: string, more: object = {}) => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
});

const page = (threadId: string) => {
  const messages = [{ id: 'page', role: 'user', content: 'bob was here' }];
  return { threadId, runId: 'r', state: {}, messages, tools: [], context: [] };
};

/** Ids of objects that alice owns. */
interface Own {
  readonly thread: string;
  readonly run: string;
  readonly checkpoint: string;
  readonly cron: string;
  readonly assistant: string;
  readonly task: string;
  readonly context: string;
  readonly asked: string;
  readonly askedContext: string;
}

type Asked = readonly [method: string, path: string, body?: unknown];

const LISTS = ['/threads/search', '/assistants/search', '/runs/crons/search', '/threads/count'] as const;
const FILTERS = [
  { metadata: { owner: 'alice' } },
  { metadata: { owner: { $like: 'a%' } } },
  { metadata: { $or: [{}] } },
  { metadata: { $or: [{ owner: 'alice' }, { owner: 'bob' }] } },
  { metadata: {}, values: {} },
];

function attacks(own: Own): readonly Asked[] {
  const { thread, run, checkpoint, cron, assistant, task, context, asked, askedContext } = own;
  const at = `/threads/${thread}`;
  const run10 = (method: string, params: unknown, agent = 'talk'): Asked => [
    'POST',
    `/a2a/${agent}`,
    rpc(method, params),
  ];
  const input = { messages: [{ role: 'user', content: 'bob was here' }] };
  return [
    ...LISTS.flatMap((path) => FILTERS.map((filter): Asked => ['POST', path, filter])),
    ...[{ ids: [thread] }, { select: ['values', 'config', 'metadata', 'interrupts'] }].map((more): Asked => [
      'POST',
      '/threads/search',
      more,
    ]),
    ...[
      '',
      '/state',
      '/history',
      '/runs',
      `/runs/${run}`,
      `/runs/${run}/join`,
      `/runs/${run}/stream`,
      '/stream',
    ].map((end): Asked => ['GET', `${at}${end}`]),
    ['GET', `${at}/state/${checkpoint}`],
    ['POST', `${at}/state/checkpoint`, { checkpoint: { checkpoint_id: checkpoint, thread_id: thread } }],
    ['POST', `${at}/history`, { limit: 10, metadata: {} }],
    ['POST', `${at}/state`, { values: { messages: [] }, as_node: 'model' }],
    ['PATCH', at, { metadata: { owner: 'bob' } }],
    ['GET', `${at}/storage`],
    ['POST', `${at}/copy`],
    ['POST', '/threads/prune', { thread_ids: [thread] }],
    ['POST', '/threads', { thread_id: thread, if_exists: 'do_nothing' }],
    ['POST', `${at}/runs/wait`, { assistant_id: 'talk', input, if_not_exists: 'create' }],
    ['POST', '/runs/wait', { assistant_id: 'talk', input, config: { configurable: { thread_id: thread } } }],
    [
      'POST',
      '/runs/wait',
      { assistant_id: 'talk', input, checkpoint: { thread_id: thread, checkpoint_id: checkpoint } },
    ],
    ['POST', '/runs/wait', { assistant_id: assistant, input }],
    ['POST', `${at}/runs/${run}/cancel`],
    ['POST', '/runs/cancel', { thread_id: thread, run_ids: [run] }],
    ['DELETE', `${at}/runs/${run}`],
    ['GET', `/assistants/${assistant}`],
    ['GET', `/assistants/${assistant}/schemas`],
    ['POST', `/assistants/${assistant}/versions`, {}],
    ['PATCH', `/assistants/${assistant}`, { name: 'bob' }],
    ['GET', `/runs/crons/${cron}`],
    ['PATCH', `/runs/crons/${cron}`, { enabled: false }],
    ['DELETE', `/runs/crons/${cron}`],
    ['POST', `${at}/runs/crons`, { assistant_id: 'talk', schedule: '@daily' }],
    ['POST', '/store/items/search', { namespace_prefix: ['alice'] }],
    ['POST', '/store/items/search', { namespace_prefix: [], filter: {} }],
    ['POST', '/store/namespaces', { prefix: ['alice'] }],
    ['GET', '/store/items?namespace=alice.notes&key=k'],
    ['DELETE', '/store/items', { namespace: ['alice', 'notes'], key: 'k' }],
    ['PUT', '/store/items', { namespace: ['alice', 'notes'], key: 'k', value: { text: 'bob' } }],
    run10('ListTasks', {}),
    run10('ListTasks', { contextId: context, includeArtifacts: true, historyLength: 10 }),
    run10('ListTasks', { contextId: thread, includeArtifacts: true, historyLength: 10 }),
    run10('ListTasks', { pageToken: Buffer.from(`${Date.now() + 60_000} ${task}`).toString('base64url') }),
    run10('GetTask', { id: task, historyLength: 10 }),
    run10('GetTask', { id: run, historyLength: 10 }),
    run10('CancelTask', { id: task }),
    run10('CancelTask', { id: asked }, 'ask'),
    run10('SubscribeToTask', { id: asked }, 'ask'),
    run10('SendMessage', said('bob was here', { contextId: context })),
    run10('SendMessage', said('bob was here', { contextId: thread })),
    run10('SendMessage', said('bob was here', { taskId: asked, contextId: askedContext }), 'ask'),
    run10('SendMessage', said('bob was here', { contextId: thread, referenceTaskIds: [task] })),
    run10('SendStreamingMessage', said('bob was here', { taskId: asked }), 'ask'),
    run10('SendMessage', said('bob was here'), assistant),
    ['POST', `${at}/commands`, { id: 1, method: 'run.start', params: { assistant_id: 'talk', input } }],
    ['POST', `${at}/commands`, { id: 1, method: 'state.get', params: {} }],
    ['POST', `${at}/commands`, { id: 1, method: 'input.respond', params: { response: 'blue' } }],
    ['POST', `${at}/stream/events`, { channels: ['values', 'messages', 'lifecycle'], since: 0 }],
    [
      'POST',
      `/threads/${askedContext}/stream/events`,
      { channels: ['values', 'messages', 'lifecycle'], since: 0 },
    ],
    ['POST', '/ag-ui/talk', page(thread)],
    ['GET', '/chat/threads'],
    ['GET', `/chat/threads/${thread}`],
    ['POST', `/chat/threads/${thread}`, { text: 'bob was here' }],
    ['POST', '/chat/threads', { assistant }],
    ['POST', '/ag-ui/talk', page(context)],
    ['POST', `/ag-ui/${assistant}`, page('other')],
    ['POST', '/mcp', rpc('tools/call', { name: assistant, arguments: input })],
    ['DELETE', `/assistants/${assistant}`],
    ['DELETE', at],
  ];
}

async function collect(
  stream: ReadableStream<Uint8Array> | null,
  take: (text: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  try {
    for await (const piece of stream ?? []) take(decoder.decode(piece, { stream: true }));
  } catch {
    // ended by its reader
  }
}

async function textOf(answer: Response): Promise<string> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.text();
  let text = '';
  const reading = collect(answer.body, (piece) => (text += piece));
  // it does not end: leaked output of the past would arrive at once
  await Promise.race([reading, quietFor(300)]);
  return text;
}

const LANGUAGES: readonly (readonly [string, string])[] = [
  ['TypeScript', GUARDED_AGENT],
  ...(python ? [['Python', GUARDED_PYTHON_AGENT] as const] : []),
];

describe.each(LANGUAGES)('a caller that a handler in %s lets reach its own alone', (_language, folder) => {
  const postgres = testPostgres();
  let server: ServerProcess;
  let own: Own;

  const call = async (token: string, method: string, path: string, body?: unknown) => {
    const answer = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'a2a-version': '1.0',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.status, text: await textOf(answer) };
  };
  const asAlice = async (method: string, path: string, body?: unknown) => {
    const { status, text } = await call('alice', method, path, body);
    expect([path, status, text]).toEqual([path, 200, expect.anything()]);
    return JSON.parse(text) as Record<string, string> & {
      result: { task: { id: string; contextId: string } };
    };
  };
  const whatIsOwn = async () => {
    const at = `/threads/${own.thread}`;
    const paths = [
      at,
      `${at}/state`,
      `${at}/runs`,
      `/assistants/${own.assistant}`,
      `/runs/crons/${own.cron}`,
    ];
    const kept: unknown[] = [];
    for (const path of [...paths, '/store/items?namespace=alice.notes&key=k'])
      kept.push(await asAlice('GET', path));
    const task = (await asAlice('POST', '/a2a/ask', rpc('GetTask', { id: own.asked }))).result;
    const talk = await asAlice(
      'POST',
      '/a2a/talk',
      rpc('ListTasks', { includeArtifacts: true, historyLength: 9 }),
    );
    return [...kept, task, talk.result];
  };

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareDatabase);
    server = await ServerProcess.start({ uri, folder, env: { AGENTPLANE_PYTHON: python } });
    const { thread_id: thread = '' } = await asAlice('POST', '/threads', { metadata: { note: CANARY } });
    const input = { messages: [{ role: 'user', content: CANARY }] };
    await asAlice('POST', `/threads/${thread}/runs/wait`, {
      assistant_id: 'talk',
      input,
      metadata: { note: CANARY },
    });
    const [run] = (await asAlice('GET', `/threads/${thread}/runs`)) as unknown as [{ run_id: string }];
    const { checkpoint_id: checkpoint = '' } = (
      (await asAlice('GET', `/threads/${thread}/state`)) as unknown as { checkpoint: Record<string, string> }
    ).checkpoint;
    const { cron_id: cron = '' } = await asAlice('POST', `/threads/${thread}/runs/crons`, {
      assistant_id: 'talk',
      schedule: '@yearly',
      input,
      metadata: { note: CANARY },
    });
    const { assistant_id: assistant = '' } = await asAlice('POST', '/assistants', {
      graph_id: 'talk',
      name: CANARY,
      context: { plan: CANARY },
    });
    expect(
      (
        await call('alice', 'PUT', '/store/items', {
          namespace: ['notes'],
          key: 'k',
          value: { text: CANARY },
        })
      ).status,
    ).toBe(204);
    const { task } = (await asAlice('POST', '/a2a/talk', rpc('SendMessage', said(CANARY)))).result;
    const { task: asked } = (await asAlice('POST', '/a2a/ask', rpc('SendMessage', said(CANARY)))).result;
    own = {
      thread,
      run: run.run_id,
      checkpoint,
      cron,
      assistant,
      task: task.id,
      context: task.contextId,
      asked: asked.id,
      askedContext: asked.contextId,
    };
  });
  afterAll(() => server?.stop('SIGKILL'));

  it('reads and changes nothing of another, by any route', async () => {
    const before = await whatIsOwn();
    const leaks: unknown[] = [];
    for (const [method, path, body] of attacks(own)) {
      const { status, text } = await call('bob', method, path, body);
      const named = `${path} ${JSON.stringify(body) ?? ''}`;
      const shown = [CANARY, 'alice', ...Object.values(own)].filter(
        (one) => text.includes(one) && !named.includes(one),
      );
      if (shown.length > 0 || status >= 500)
        leaks.push([method, path, body, status, shown, text.slice(0, 300)]);
    }
    expect(leaks).toEqual([]);
    expect(await whatIsOwn()).toEqual(before);
  });

  it('hears nothing of a run on the thread of another', async () => {
    const path = `${server.url}/threads/${own.thread}/stream/events`;
    const body = JSON.stringify({ channels: ['values', 'messages', 'lifecycle'] });
    const heard = { alice: '', bob: '' };
    const end = new AbortController();
    for (const token of ['alice', 'bob'] as const) {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
      const { body: stream } = await fetch(path, { method: 'POST', headers, body, signal: end.signal });
      void collect(stream, (text) => (heard[token] += text));
    }
    const socket = new WebSocket(path.replace('http', 'ws'), { headers: { authorization: 'Bearer bob' } });
    socket.on('error', () => undefined).on('message', (data: Buffer) => (heard.bob += data.toString()));
    socket.on('open', () => {
      const params = { channels: ['values', 'messages', 'lifecycle'] };
      socket.send(JSON.stringify({ id: 1, method: 'subscription.subscribe', params }));
    });
    const input = { messages: [{ role: 'user', content: `${CANARY} again` }] };
    const start = { id: 1, method: 'run.start', params: { assistant_id: 'talk', input } };
    await asAlice('POST', `/threads/${own.thread}/commands`, start);
    await waitFor(() => heard.alice.includes(`${CANARY} again`));
    expect(heard.bob).not.toContain(CANARY);
    end.abort();
    socket.terminate();
  });
});
