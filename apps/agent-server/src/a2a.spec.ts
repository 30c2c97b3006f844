import { join } from 'node:path';
import { PLATFORM_VERSION } from '#lib/config';
import { testServer } from '../testdata/test-server.js';

type Json = Readonly<Record<string, unknown>>;

const TALKING_AGENT = join(import.meta.dirname, '..', 'testdata', 'talking-agent');
const server = testServer({ folder: TALKING_AGENT });

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly body: Json;
}

async function call(
  body: unknown,
  { agent = 'echo', headers = {} }: { agent?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(`${server.url}/a2a/${agent}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  const isJson = type.startsWith('application/json');
  return { status: response.status, type, text, body: isJson ? (JSON.parse(text) as Json) : {} };
}

const request = (method: string, params: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const old = (parts: unknown, more: object = {}) => ({
  message: { kind: 'message', messageId: 'm', role: 'user', parts, ...more },
});
const hi = [{ kind: 'text', text: 'hi' }];
const new_ = (parts: unknown, more: object = {}) => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts, ...more },
});
const NOBODYS = '01a2017a-7a97-7479-8f02-e1895e7b3c88';
const oldSend = (parts: unknown, more?: object) => request('message/send', old(parts, more));
const newSend = (parts: unknown, more?: object) => request('SendMessage', new_(parts, more));

async function taskOf(agent = 'echo', more: object = {}): Promise<{ id: string; contextId: string }> {
  const { body } = await call(oldSend(hi, more), { agent });
  return body['result'] as { id: string; contextId: string };
}

it('answers a message of data with what its run said alone', async () => {
  const { contextId, ...first } = await taskOf('terse');
  expect(first).toMatchObject({ artifacts: [{ parts: [{ text: 'said' }] }] });
  const { body } = await call(oldSend([{ kind: 'data', data: { n: 1 } }], { contextId }), { agent: 'terse' });
  expect(body['result']).toMatchObject({ contextId, status: { state: 'completed' }, artifacts: [] });
});

it('answers a text that the graph drops with what its run said alone', async () => {
  const { contextId, ...first } = await taskOf('forgetful');
  expect(first).toMatchObject({ artifacts: [{ parts: [{ text: 'said' }] }] });
  const { body } = await call(oldSend(hi, { contextId }), { agent: 'forgetful' });
  expect(body['result']).toMatchObject({ contextId, status: { state: 'completed' }, artifacts: [] });
});

describe('an error of the protocol', () => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  it.each<[string, unknown, number, unknown]>([
    ['a body that is no JSON', '{"jsonrpc": "2.0", "id": 1,', -32700, null],
    ['an empty body', '', -32700, null],
    ['a body nested too deep', deep, -32602, null],
    ['a name that comes twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"tasks/get"}', -32602, null],
    ['a batch', [oldSend(hi)], -32600, null],
    ['a text', '"hi"', -32600, null],
    ['another version of JSON-RPC', { ...oldSend(hi), jsonrpc: '1.0' }, -32600, 1],
    ['a method that is no text', { ...oldSend(hi), method: 5 }, -32600, 1],
    ['no method', { jsonrpc: '2.0', id: 'x' }, -32600, 'x'],
    ['no id', { jsonrpc: '2.0', method: 'tasks/get', params: { id: NOBODYS } }, -32600, null],
    ['no id and an unknown method', { jsonrpc: '2.0', method: 'tasks/dance' }, -32601, null],
    ['no id and no params', { jsonrpc: '2.0', method: 'tasks/get', params: {} }, -32602, null],
    ['an id with a fraction', { ...oldSend(hi), id: 1.5 }, -32600, null],
    ['an id that is a list', { ...oldSend(hi), id: [1] }, -32600, null],
    ['an id beyond exact numbers', '{"jsonrpc":"2.0","id":12345678901234567890,"method":"x"}', -32600, null],
    ['an enormous id', { ...oldSend(hi), id: 'x'.repeat(5_000) }, -32600, null],
    ['a method that does not exist', request('tasks/list', {}, 'a'), -32601, 'a'],
    ['a method of objects', request('__proto__', {}), -32601, 1],
    ['no params', { jsonrpc: '2.0', id: 1, method: 'message/send' }, -32602, 1],
    ['params that are a list', request('message/send', [1]), -32602, 1],
    ['no message', request('message/send', {}), -32602, 1],
    [
      'a message without its id',
      request('message/send', { message: { role: 'user', parts: hi } }),
      -32602,
      1,
    ],
    ['no parts', oldSend([]), -32602, 1],
    ['parts that are no list', oldSend({ 0: hi[0], length: 1 }), -32602, 1],
    ['a part of an unknown kind', oldSend([{ kind: 'video' }]), -32602, 1],
    ['a text part without text', oldSend([{ kind: 'text', text: 5 }]), -32602, 1],
    ['a data part with a list', oldSend([{ kind: 'data', data: [1] }]), -32602, 1],
    ['a message of an agent', oldSend(hi, { role: 'agent' }), -32602, 1],
    ['a context that is a number', oldSend(hi, { contextId: 7 }), -32602, 1],
    ['a context that is too long', oldSend(hi, { contextId: 'x'.repeat(256) }), -32602, 1],
    ['a context with a NUL', oldSend(hi, { contextId: 'a\u0000b' }), -32602, 1],
    ['a task id that is a number', request('tasks/get', { id: 7 }), -32602, 1],
    ['a negative history', request('tasks/get', { id: NOBODYS, historyLength: -1 }), -32602, 1],
    ['data that set messages', oldSend([{ kind: 'data', data: { messages: [] } }]), -32602, 1],
    ['data that steer', oldSend([{ kind: 'data', data: { __steer: 1 } }]), -32602, 1],
    ['a member __proto__', '{"jsonrpc":"2.0","id":1,"method":"x","params":{"__proto__":{}}}', -32602, null],
    [
      'a member by both of its names',
      request('GetTask', { id: NOBODYS, historyLength: 1, history_length: 1 }),
      -32602,
      1,
    ],
    ['a part with text and data', newSend([{ text: 'a', data: {} }]), -32602, 1],
    ['a part of the other wire', newSend([{ kind: 'text' }]), -32602, 1],
    ['a tenant', request('SendMessage', { ...new_([{ text: 'a' }]), tenant: 'x' }), -32602, 1],
    ['a history of nothing', request('tasks/get', { id: NOBODYS, historyScope: 'all' }), -32602, 1],
    ['lists of whole contexts', request('ListTasks', { historyScope: 'context' }), -32602, 1],
    [
      'a stream with the history of its context',
      request('SendStreamingMessage', {
        ...new_([{ text: 'a' }]),
        configuration: { historyScope: 'context' },
      }),
      -32602,
      1,
    ],
    ['a page that was never given', request('ListTasks', { pageToken: 'x' }), -32602, 1],
    ['a page of nothing', request('ListTasks', { pageSize: 0 }), -32602, 1],
    ['a state that does not exist', request('ListTasks', { status: 'TASK_STATE_GONE' }), -32602, 1],
    ['a task that does not exist', request('tasks/get', { id: NOBODYS }), -32001, 1],
    ['a task id that is no uuid', request('tasks/get', { id: 'x' }), -32001, 1],
    ['a message to a task that does not exist', oldSend(hi, { taskId: NOBODYS }), -32001, 1],
    ['the end of a task that does not exist', request('tasks/cancel', { id: NOBODYS }), -32001, 1],
    ['reading a task that does not exist', request('SubscribeToTask', { id: NOBODYS }), -32001, 1],
    ['a receiver of no task', request('tasks/pushNotificationConfig/set', {}), -32602, 1],
    ['the receivers of no task', request('ListTaskPushNotificationConfigs', {}), -32602, 1],
    [
      'receivers without an id',
      { jsonrpc: '2.0', method: 'tasks/pushNotificationConfig/list' },
      -32602,
      null,
    ],
    [
      'a message with a receiver on a private address',
      request('message/send', {
        ...old(hi),
        configuration: { pushNotificationConfig: { url: 'http://127.0.0.1/' } },
      }),
      -32602,
      1,
    ],
    [
      'a file on a private address',
      oldSend([{ kind: 'file', file: { uri: 'http://127.0.0.1/' } }]),
      -32602,
      1,
    ],
    ['a file of 1.0 on a private address', newSend([{ url: 'http://127.0.0.1/' }]), -32602, 1],
    ['a file of the disk', newSend([{ url: 'file:///etc/passwd' }]), -32602, 1],
    ['a file whose address holds a name', newSend([{ url: 'https://a:b@example.com/' }]), -32602, 1],
    ['a file without content', oldSend([{ kind: 'file', file: { name: 'x' } }]), -32602, 1],
    ['a file that is no base64', newSend([{ raw: 'not base64!' }]), -32602, 1],
    [
      'output that is no text',
      request('message/send', { ...old(hi), configuration: { acceptedOutputModes: ['image/png'] } }),
      -32005,
      1,
    ],
  ])('answers %s', async (_name, body, code, id) => {
    const answer = await call(body);
    expect([answer.status, answer.body]).toEqual([
      200,
      { jsonrpc: '2.0', id, error: expect.objectContaining({ code, message: expect.any(String) }) },
    ]);
    expect(answer.text).not.toMatch(/node_modules|\.ts:|SELECT|agentplane\./);
  });

  it('answers another content type with 415, and another assistant with 404', async () => {
    const plain = await call(oldSend(hi), { headers: { 'content-type': 'text/plain' } });
    expect([plain.status, plain.body]).toMatchObject([415, { error: { code: -32005 } }]);
    const none = await call(oldSend(hi), { agent: 'none' });
    expect([none.status, none.body]).toMatchObject([404, { id: 1, error: { code: -32602 } }]);
    const mute = await call(oldSend(hi), { agent: 'mute' });
    expect([mute.status, mute.body]).toMatchObject([200, { error: { code: -32602 } }]);
  });

  it('gives details as each version has them', async () => {
    const ofNew = await call(request('GetTask', { id: NOBODYS }));
    expect(ofNew.body['error']).toEqual({
      code: -32001,
      message: 'Task not found',
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'TASK_NOT_FOUND',
          domain: 'a2a-protocol.org',
          metadata: {},
        },
      ],
    });
    const wrong = await call(newSend([]));
    expect(wrong.body['error']).toMatchObject({
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'message.parts', description: expect.any(String) }],
        },
      ],
    });
    expect((await call(request('tasks/get', { id: NOBODYS }))).body['error']).toEqual({
      code: -32001,
      message: 'Task not found',
    });
  });
});

describe('the version of a request', () => {
  it.each([['0.3'], ['0.3.0'], [''], ['1.0'], ['1.0.1']])('accepts %j', async (version) => {
    const { body } = await call(request('tasks/get', { id: NOBODYS }), {
      headers: { 'a2a-version': version },
    });
    expect(body).toMatchObject({ error: { code: -32001 } });
  });

  it.each([['0.2'], ['2.0'], ['one'], ['1'], ['x'.repeat(500)]])('refuses %j', async (version) => {
    const { body } = await call(oldSend(hi), { headers: { 'a2a-version': version } });
    expect(body).toMatchObject({
      id: 1,
      error: { code: -32009, data: [{ reason: 'VERSION_NOT_SUPPORTED' }] },
    });
  });

  it('chooses the shape of the answer', async () => {
    expect((await call(oldSend(hi))).body['result']).toMatchObject({ kind: 'task' });
    const { body } = await call(newSend([{ text: 'hi' }]), { headers: { 'a2a-version': '1.0' } });
    expect(body['result']).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
  });

  it.each([[1], ['1'], [null]])('leaves an id as it is: %j', async (id) => {
    const answer = await call(request('tasks/get', { id: NOBODYS }, id));
    expect(answer.body['id']).toBe(id);
  });
});

describe('a task', () => {
  it('takes a message without a kind in a request for any type', async () => {
    const params = { message: { role: 'user', messageId: 'm', parts: hi } };
    const { body } = await call(request('message/send', params, 'one'), { headers: { accept: '*/*' } });
    expect(body).toMatchObject({
      id: 'one',
      result: {
        kind: 'task',
        status: { state: 'completed', message: { parts: [{ kind: 'text', text: '1: hi' }] } },
        artifacts: [{ parts: [{ kind: 'text', text: '1: hi' }] }],
      },
    });
  });

  it('stands as a run on the thread of its context', async () => {
    const contextId = '9b2f0f9e-0a52-4c0e-8a44-6a4f3d1f7c11';
    const { id } = await taskOf('echo', { contextId });
    const run = (await (await fetch(`${server.url}/threads/${contextId}/runs/${id}`)).json()) as Json;
    expect(run).toMatchObject({ run_id: id, thread_id: contextId, status: 'success' });
  });

  it('finds its thread by any context', async () => {
    const contextId = 'a conversation/ü "quoted"';
    await taskOf('echo', { contextId });
    const { body } = await call(oldSend(hi, { contextId }));
    expect(body['result']).toMatchObject({ contextId, artifacts: [{ parts: [{ text: '3: hi' }] }] });
  });

  it('has another answer for a task of another context, and the same one for another agent as for none', async () => {
    const { id, contextId } = await taskOf();
    const other = await call(oldSend(hi, { taskId: id, contextId: 'other' }));
    expect(other.body).toMatchObject({ error: { code: -32602 } });
    expect((await call(request('tasks/get', { id, contextId }))).body['result']).toMatchObject({ id });
    const elsewhere = await call(request('tasks/get', { id }), { agent: 'topical' });
    const nowhere = await call(request('tasks/get', { id: NOBODYS }), { agent: 'topical' });
    expect(elsewhere.text).toBe(nowhere.text);
  });

  it('remembers what its message referred to', async () => {
    const first = await taskOf();
    const more = {
      taskId: first.id,
      contextId: first.contextId,
      metadata: { a: 1 },
      referenceTaskIds: ['x'],
    };
    const { body } = await call(oldSend([...hi, { kind: 'text', text: 'ho' }], more));
    expect((body['result'] as Json)['history']).toMatchObject([
      {
        role: 'user',
        messageId: 'm',
        metadata: { a: 1 },
        referenceTaskIds: ['x', first.id],
        parts: [
          { kind: 'text', text: 'hi' },
          { kind: 'text', text: 'ho' },
        ],
      },
      { role: 'agent' },
    ]);
  });

  interface Heard {
    readonly id: string;
    readonly content: unknown;
  }
  const heard = async (parts: unknown, more?: object): Promise<{ heard: Heard; task: Json }> => {
    const { body } = await call(oldSend(parts, more), { agent: 'mirror' });
    const task = body['result'] as { artifacts: { parts: { text: string }[] }[] } & Json;
    return { heard: JSON.parse(task.artifacts[0]?.parts[0]?.text ?? '') as Heard, task };
  };

  it('keeps the id of its message, but not twice on a thread', async () => {
    const contextId = 'ids';
    const first = await heard(hi, { messageId: 'mine', contextId });
    expect(first.heard).toEqual({ id: 'mine', content: 'hi' });
    const second = await heard(hi, { messageId: 'mine', contextId });
    expect(second.heard.id).not.toBe('mine');
    expect(second.task).toMatchObject({ history: [{ messageId: 'mine' }, {}] });
  });

  it('keeps data that the input of its graph does not have', async () => {
    const data = { config: { a: 1 }, city: 'Rome' };
    const { heard: message, task } = await heard([...hi, { kind: 'data', data }]);
    const content = [
      { type: 'text', text: 'hi' },
      { type: 'text', text: JSON.stringify(data) },
    ];
    expect(message.content).toEqual(content);
    expect(task).toMatchObject({ history: [{ parts: [...hi, { kind: 'data', data }] }, {}] });
  });

  it('passes files on, and answers with those of its agent', async () => {
    const file = { bytes: 'aGVsbG8=', mimeType: 'image/png', name: 'a.png' };
    const link = { uri: 'https://1.1.1.1/report.pdf', mimeType: 'application/pdf' };
    const parts = [...hi, { kind: 'file', file }, { kind: 'file', file: link }];
    const { heard: message, task } = await heard(parts);
    expect(message.content).toMatchObject([
      { type: 'text', text: 'hi' },
      { type: 'image', source_type: 'base64', data: 'aGVsbG8=', mime_type: 'image/png' },
      { type: 'file', source_type: 'url', url: link.uri, mime_type: 'application/pdf' },
    ]);
    const drawn = { kind: 'file', file: { bytes: 'aGk=', mimeType: 'image/png' } };
    expect(task).toMatchObject({
      artifacts: [{ parts: [{ kind: 'text' }, drawn] }],
      history: [{ parts }, { parts: [{ kind: 'text' }, drawn] }],
    });
    const raw = { raw: 'aGk=', mediaType: 'image/png' };
    const sent = newSend([{ raw: file.bytes, mediaType: file.mimeType, filename: file.name }]);
    const { body } = await call(sent, { agent: 'mirror' });
    expect(body['result']).toMatchObject({ task: { artifacts: [{ parts: [{}, raw] }] } });
    const { text } = await call(request('message/stream', old(parts)), { agent: 'mirror' });
    expect(text).toContain('"bytes":"aGk="');
  });

  it('shows the messages of its whole context to a client that asks for them', async () => {
    const contextId = 'history';
    await taskOf('echo', { contextId });
    const params = { ...old(hi, { contextId }), configuration: { historyScope: 'context' } };
    const { body } = await call(request('message/send', params));
    const whole = [{ role: 'user' }, { role: 'agent' }, { role: 'user' }, { role: 'agent' }];
    expect(body['result']).toMatchObject({ history: whole });
    const { id } = body['result'] as { id: string };
    const read = async (more: object) =>
      ((await call(request('tasks/get', { id, ...more }))).body['result'] as { history: unknown[] }).history;
    expect(await read({ historyScope: 'context' })).toMatchObject(whole);
    expect(await read({ historyScope: 'context', historyLength: 1 })).toHaveLength(1);
    expect(await read({ historyScope: 'task' })).toHaveLength(2);
  });

  it('refuses more messages during its work, and ends once', async () => {
    const params = { ...old(hi), configuration: { blocking: false } };
    const { body } = await call(request('message/send', params), { agent: 'slow' });
    const { id: taskId, contextId } = body['result'] as { id: string; contextId: string };
    const busy = await call(oldSend(hi, { taskId, contextId }), { agent: 'slow' });
    expect(busy.body).toMatchObject({ error: { code: -32004 } });
    expect((await call(request('tasks/cancel', { id: taskId }), { agent: 'slow' })).body).toMatchObject({
      result: { status: { state: 'canceled' } },
    });
    const again = await call(request('tasks/cancel', { id: taskId }), { agent: 'slow' });
    expect(again.body).toMatchObject({ error: { code: -32002 } });
    const read = await call(request('SubscribeToTask', { id: taskId }), { agent: 'slow' });
    expect(read.body).toMatchObject({ error: { code: -32004 } });
    const stream = await call(request('tasks/resubscribe', { id: taskId }), { agent: 'slow' });
    expect(stream.text.match(/"kind":"(task|status-update)"/g)).toHaveLength(2);
    expect(stream.text).toContain('"final":true');
  });

  it('counts as canceled once its context has another run', async () => {
    const { id, contextId } = await taskOf('asking');
    await call(oldSend(hi, { contextId }), { agent: 'asking' });
    const { body } = await call(request('tasks/get', { id }), { agent: 'asking' });
    expect(body['result']).toMatchObject({ status: { state: 'canceled' } });
  });

  it('ends with its thread', async () => {
    const { id, contextId } = await taskOf();
    await fetch(`${server.url}/threads/${contextId}`, { method: 'DELETE' });
    expect((await call(request('tasks/get', { id }))).body).toMatchObject({ error: { code: -32001 } });
  });

  it('names answers to questions by ids that are asked', async () => {
    const { id: taskId } = await taskOf('twofold');
    const answer = (resume: unknown) =>
      call(oldSend([{ kind: 'data', data: { resume } }], { taskId }), { agent: 'twofold' });
    for (const resume of [[], 'x', [{ id: 'unknown', value: 1 }], [{ value: 1 }], [{ id: 5, value: 1 }], {}])
      expect((await answer(resume)).body).toMatchObject({ error: { code: -32602 } });
  });

  it('streams its events as JSON-RPC answers of one request', async () => {
    const { type, text } = await call(request('message/stream', old(hi), 'stream 1'));
    expect(type).toMatch(/^text\/event-stream/);
    const events = text
      .split('\n\n')
      .filter((frame) => frame.startsWith('data: '))
      .map((frame) => JSON.parse(frame.slice(6)) as Json);
    expect(events.every((event) => event['jsonrpc'] === '2.0' && event['id'] === 'stream 1')).toBe(true);
    expect(events.filter(({ result }) => (result as Json)['final'] === true)).toHaveLength(1);
    const refused = await call(request('message/stream', old([])));
    expect([refused.status, refused.type]).toEqual([200, 'application/json; charset=utf-8']);
  });

  it.each([
    ['message/stream', old([]), -32602],
    ['tasks/resubscribe', { id: NOBODYS }, -32001],
    ['SendStreamingMessage', new_([]), -32602],
    ['SubscribeToTask', { id: NOBODYS }, -32001],
  ])('shows an error of %s as an event to a client of events', async (method, params, code) => {
    const headers = { accept: 'text/event-stream' };
    const { status, type, text } = await call(request(method, params, 's'), { headers });
    expect([status, type]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(JSON.parse(text.slice('data: '.length))).toMatchObject({ id: 's', error: { code } });
  });

  it('takes parameters of 1.0 by the names of the definition of the protocol', async () => {
    const message = { message_id: 'm', role: 'ROLE_USER', parts: [{ text: 'hi', media_type: 'text/plain' }] };
    const configuration = { history_length: 0, return_immediately: false };
    const { body } = await call(request('SendMessage', { message, configuration }));
    const { task } = body['result'] as { task: { id: string; history?: unknown } };
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    expect(task.history).toBeUndefined();
    const one = await call(request('GetTask', { id: task.id, history_length: 1 }));
    expect(one.body['result']).toMatchObject({ history: [{ role: 'ROLE_AGENT' }] });
    const list = { context_id: 'x', page_size: 1, status_timestamp_after: '2026-01-01T00:00:00Z' };
    expect((await call(request('ListTasks', list))).body['result']).toMatchObject({ pageSize: 1 });
  });

  it('comes to its end when the reader of its stream leaves', async () => {
    const contextId = 'left alone';
    const leaving = new AbortController();
    const response = await fetch(`${server.url}/a2a/slow`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request('message/stream', old(hi, { contextId }))),
      signal: leaving.signal,
    });
    const { value } = (await response.body?.getReader().read()) ?? {};
    const { result } = JSON.parse(new TextDecoder().decode(value).split('\n')[0]?.slice(6) ?? '') as {
      result: { id: string };
    };
    leaving.abort();
    const stream = await call(request('tasks/resubscribe', { id: result.id }), { agent: 'slow' });
    expect(stream.text).toContain('"state":"completed"');
  });
});

describe('a list of tasks', () => {
  interface List {
    readonly tasks: readonly {
      readonly id: string;
      readonly artifacts?: unknown;
      readonly history?: unknown;
    }[];
    readonly nextPageToken: string;
    readonly pageSize: number;
    readonly totalSize: number;
  }
  const list = async (params: object, agent = 'echo'): Promise<List> =>
    (await call(request('ListTasks', params), { agent })).body['result'] as List;

  it('has its pages, newest first', async () => {
    const contextId = 'listed';
    const ids = [];
    for (let at = 0; at < 3; at++) ids.unshift((await taskOf('echo', { contextId })).id);
    const first = await list({ contextId, pageSize: 2 });
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3 });
    const second = await list({ contextId, pageSize: 2, pageToken: first.nextPageToken });
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids);
    expect(second.nextPageToken).toBe('');
    expect(first.tasks.every((task) => !('artifacts' in task) && !('history' in task))).toBe(true);
    const [whole] = (await list({ contextId, pageSize: 1, includeArtifacts: true, historyLength: 1 })).tasks;
    expect(whole).toMatchObject({ artifacts: [{ parts: [{ text: '5: hi' }] }], history: [{}] });
  });

  it('has tasks of a state, once each', async () => {
    const contextId = 'asked';
    const { id } = await taskOf('asking', { contextId });
    const waiting = { contextId, status: 'TASK_STATE_INPUT_REQUIRED' };
    expect((await list(waiting, 'asking')).tasks.map((task) => task.id)).toEqual([id]);
    await call(oldSend(hi, { taskId: id }), { agent: 'asking' });
    expect((await list(waiting, 'asking')).totalSize).toBe(0);
    const done = await list({ contextId, status: 'TASK_STATE_COMPLETED' }, 'asking');
    expect(done).toMatchObject({ totalSize: 1, tasks: [{ id }] });
    const later = new Date(Date.now() + 60_000).toISOString();
    expect((await list({ contextId, statusTimestampAfter: later }, 'asking')).totalSize).toBe(0);
  });
});

describe('the version of the server', () => {
  it('satisfies the floor of A2A apart from the version of the product', async () => {
    const info = (await (await fetch(`${server.url}/info`)).json()) as Readonly<Record<string, string>>;
    const [major = 0, minor = 0, patch = 0] = (info['version'] ?? '').split('.').map(Number);
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(4_021);
    expect(info['agentplane_version']).toBe(PLATFORM_VERSION);
  });
});

describe('an agent card', () => {
  const card = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers });
  const both = ['/.well-known/agent-card.json?assistant_id=echo', '/a2a/echo/.well-known/agent-card.json'];

  it('serves clients of both versions at both addresses', async () => {
    const [first, second] = await Promise.all(both.map(async (path) => (await card(path)).json()));
    expect(first).toEqual(second);
    const url = expect.stringMatching(new RegExp(`^${server.url}/a2a/[0-9a-f-]{36}$`)) as string;
    expect(first).toMatchObject({
      name: 'echo',
      description: 'Repeats the last message.',
      protocolVersion: '0.3.0',
      preferredTransport: 'JSONRPC',
      url,
      capabilities: { streaming: true, pushNotifications: true },
      defaultInputModes: expect.arrayContaining(['text/plain', 'application/json', 'image/png']) as unknown,
      skills: [{ id: 'echo' }],
      supportedInterfaces: [
        { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      ],
    });
  });

  it('has no members of 0.3 for a client of 1.0', async () => {
    const pure = (await (await card(both[0] ?? '', { 'a2a-version': '1.0' })).json()) as Json;
    expect(Object.keys(pure).sort()).toEqual([
      'capabilities',
      'defaultInputModes',
      'defaultOutputModes',
      'description',
      'name',
      'skills',
      'supportedInterfaces',
      'version',
    ]);
  });

  it('names the input of its graph in the extended form', async () => {
    const plain = (await (await card(both[0] ?? '', { 'a2a-version': '1.0' })).json()) as Json;
    const { body } = await call(request('GetExtendedAgentCard', {}));
    const { capabilities, ...rest } = body['result'] as Json;
    expect({ ...rest, capabilities: plain['capabilities'] }).toEqual(plain);
    const properties = expect.objectContaining({ messages: expect.anything() as unknown }) as unknown;
    const extension = { uri: 'urn:agentplane:a2a:input-schema', params: { inputSchema: { properties } } };
    expect(capabilities).toMatchObject({ extendedAgentCard: true, extensions: [extension] });
    const old_ = await call(request('agent/getAuthenticatedExtendedCard', {}));
    expect(old_.body['result']).toMatchObject({
      protocolVersion: '0.3.0',
      supportsAuthenticatedExtendedCard: true,
      capabilities: { extensions: [extension] },
    });
  });

  it('answers 304 for its own tag', async () => {
    const first = await card(both[0] ?? '');
    const etag = first.headers.get('etag') ?? '';
    expect(first.headers.get('vary')).toMatch(/A2A-Version/);
    expect(first.headers.get('cache-control')).toBe('private, max-age=60');
    expect(Date.parse(first.headers.get('last-modified') ?? '')).toBeLessThanOrEqual(Date.now());
    expect((await card(both[0] ?? '', { 'if-none-match': etag })).status).toBe(304);
    expect((await card(both[0] ?? '', { 'if-none-match': '"x"' })).status).toBe(200);
    expect((await card(both[0] ?? '', { 'if-none-match': etag, 'a2a-version': '1.0' })).status).toBe(200);
  });

  it('does not exist for an agent without messages', async () => {
    const mute = await card('/a2a/mute/.well-known/agent-card.json');
    expect([mute.status, await mute.json()]).toEqual([
      404,
      { detail: expect.stringContaining('no "messages"') },
    ]);
    expect((await card('/.well-known/agent-card.json?assistant_id=none')).status).toBe(404);
    expect((await card('/.well-known/agent-card.json')).status).toBe(422);
  });
});
