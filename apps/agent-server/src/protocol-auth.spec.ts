import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import { GUARDED_AGENT } from '../testdata/start-server.js';
import { testServer } from '../testdata/test-server.js';

type Json = Readonly<Record<string, unknown>>;

const folder = mkdtempSync(join(tmpdir(), 'agentplane-values-'));
const file = join(folder, 'values');
const server = testServer({ folder: GUARDED_AGENT, env: { VALUES_FILE: file } });

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function call(token: string, path: string, body: unknown): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

interface Seen {
  readonly event: string;
  readonly value: Json;
}

function seenSoFar(): Seen[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Seen);
}

/** Answer to the work, with the requests that the handler saw meanwhile. */
async function asking(work: () => Promise<Answer>): Promise<{ answer: Answer; seen: Seen[] }> {
  const before = seenSoFar().length;
  const answer = await work();
  return { answer, seen: seenSoFar().slice(before) };
}

const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });

/** Sends a text to an agent, on a thread when the protocol has threads. */
type Way = (token: string, agent: string, text: string, threadId: string) => Promise<Answer>;

function message03(text: string, contextId: string, more: object = {}) {
  const parts = [{ kind: 'text', text }];
  return { message: { kind: 'message', messageId: 'm', role: 'user', parts, contextId, ...more } };
}

function message10(text: string, contextId: string) {
  return { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], contextId } };
}

const input = (content: string) => ({ messages: [{ role: 'user', content }] });

const viaRest: Way = (token, agent, text, threadId) =>
  call(token, `/threads/${threadId}/runs/wait`, {
    assistant_id: agent,
    input: input(text),
    if_not_exists: 'create',
  });
const viaSend: Way = (token, agent, text, threadId) =>
  call(token, `/a2a/${agent}`, rpc('message/send', message03(text, threadId)));

const WAYS: Readonly<Record<string, Way>> = {
  'POST /threads/:thread_id/runs/wait': viaRest,
  'message/send': viaSend,
  'message/stream': (token, agent, text, threadId) =>
    call(token, `/a2a/${agent}`, rpc('message/stream', message03(text, threadId))),
  SendMessage: (token, agent, text, threadId) =>
    call(token, `/a2a/${agent}`, rpc('SendMessage', message10(text, threadId))),
  SendStreamingMessage: (token, agent, text, threadId) =>
    call(token, `/a2a/${agent}`, rpc('SendStreamingMessage', message10(text, threadId))),
  'AG-UI': (token, agent, text, threadId) => {
    const messages = [{ id: randomUUID(), role: 'user', content: text }];
    return call(token, `/ag-ui/${agent}`, {
      threadId,
      runId: 'r',
      state: {},
      messages,
      tools: [],
      context: [],
    });
  },
  'tools/call': (token, agent, text) =>
    call(token, '/mcp', rpc('tools/call', { name: agent, arguments: input(text) })),
};

/** Output of the graph `talk`, at any place in an answer. */
function saidIn({ text }: Answer): unknown {
  const found = /\{\\"text\\":.*?\}(?=")/.exec(text)?.[0];
  return found === undefined ? text : (JSON.parse(JSON.parse(`"${found}"`) as string) as unknown);
}

describe.each(Object.entries(WAYS))('a run that comes by %s', (name, say) => {
  const hasThread = name !== 'tools/call';

  it('shows the handler its thread, its assistant and its input', async () => {
    const threadId = randomUUID();
    const { answer, seen } = await asking(() => say('alice', 'talk', 'hello', threadId));
    expect(saidIn(answer)).toEqual({ text: 'hello', context: {} });
    const [asked, ...others] = seen.filter(({ event }) => event === 'threads:create_run');
    expect(others).toEqual([]);
    expect(asked?.value).toMatchObject({
      ...(hasThread ? { thread_id: threadId, if_not_exists: 'create' } : {}),
      assistant_id: 'talk',
      status: 'pending',
      prevent_insert_if_inflight: false,
      metadata: {},
      kwargs: { input: { messages: [{ role: 'user', content: 'hello' }] } },
    });
  });

  it('runs as the handler leaves it', async () => {
    const answer = await say('alice:edited', 'talk', 'hello', randomUUID());
    const tag = { tag: 'edited' };
    expect(saidIn(answer)).toEqual({ text: 'edited hello', tier: 'gold', context: { plan: 'pro' }, ...tag });
  });

  it('fails with 403 where the handler refuses it', async () => {
    expect(await say('alice:idle', 'talk', 'hello', randomUUID())).toEqual({
      status: 403,
      text: '{"detail":"This caller may not do this"}',
    });
  });

  if (hasThread)
    it('belongs to its caller, and leaves the thread of another caller alone', async () => {
      const threadId = randomUUID();
      await say('alice', 'talk', 'from alice', threadId);
      await say('bob', 'talk', 'from bob', threadId);
      await say('bob:edited', 'talk', 'from bob', threadId);
      const state = await fetch(`${server.url}/threads/${threadId}/state`, {
        headers: { authorization: 'Bearer alice' },
      });
      const text = await state.text();
      expect([state.status, text.includes('from alice'), text.includes('bob')]).toEqual([200, true, false]);
      const thread = await fetch(`${server.url}/threads/${threadId}`, {
        headers: { authorization: 'Bearer alice' },
      });
      expect(await thread.json()).toMatchObject({ metadata: { owner: 'alice' } });
    });
});

describe('a run of POST /threads/:thread_id/runs', () => {
  it('shows the handler all that it would do, and does what the handler leaves of it', async () => {
    const { thread_id: threadId } = JSON.parse((await call('alice', '/threads', {})).text) as Json;
    const more = { webhook: 'https://example.com/end', interrupt_before: ['model'], durability: 'sync' };
    const body = { assistant_id: 'talk', input: input('hello'), ...more };
    const { answer, seen } = await asking(() =>
      call('alice:edited', `/threads/${String(threadId)}/runs`, body),
    );
    expect(seen.at(-1)).toMatchObject({ event: 'threads:create_run', value: { kwargs: more } });
    const { kwargs } = JSON.parse(answer.text) as { kwargs: Json };
    expect(kwargs).toMatchObject({ context: { plan: 'pro' } });
    for (const name of Object.keys(more)) expect(kwargs).not.toHaveProperty(name);
  });
});

describe('a task', () => {
  const url = 'https://192.0.66.2/hook';
  const resultIn = ({ text }: Answer): Json => (JSON.parse(text) as { result: Json }).result;

  it('shows the handler its receivers, and other callers neither them nor itself', async () => {
    const config = { pushNotificationConfig: { url } };
    const { id } = resultIn(await viaSend('alice', 'talk', 'hello', randomUUID()));
    const method = (name: string) => `tasks/pushNotificationConfig/${name}`;
    const set = rpc(method('set'), { taskId: id, ...config });
    const { answer, seen } = await asking(() => call('alice', '/a2a/talk', set));
    expect(resultIn(answer)).toMatchObject({ taskId: id, pushNotificationConfig: { url } });
    expect(seen.at(-1)).toMatchObject({ event: 'threads:update', value: { webhook: url } });
    for (const foreign of [set, rpc(method('list'), { id }), rpc(method('get'), { id })])
      expect((await call('bob', '/a2a/talk', foreign)).text).toContain('-32001');
    const removal = { id, pushNotificationConfigId: id };
    expect((await call('bob', '/a2a/talk', rpc(method('delete'), removal))).text).toContain('-32001');
    const left = (await call('alice', '/a2a/talk', rpc(method('list'), { id }))).text;
    expect(JSON.parse(left)).toMatchObject({ result: [{ taskId: id }] });
    const said = { ...message03('hello', randomUUID()), configuration: config };
    const sent = await asking(() => call('alice', '/a2a/talk', rpc('message/send', said)));
    const updates = sent.seen.filter(({ event }) => event === 'threads:update');
    expect(updates).toMatchObject([{ value: { webhook: url } }]);
  });

  it('shows one of MCP to its caller alone', async () => {
    const prefix = 'io.modelcontextprotocol/';
    const ask = async (token: string, method: string, params: Json): Promise<string> => {
      const clientCapabilities = { extensions: { [`${prefix}tasks`]: {} } };
      const version = '2026-07-28';
      const meta = {
        [`${prefix}protocolVersion`]: version,
        [`${prefix}clientCapabilities`]: clientCapabilities,
      };
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'mcp-protocol-version': version,
        'mcp-method': method,
        'mcp-name': String(params['name'] ?? params['taskId']),
      };
      const body = JSON.stringify(rpc(method, { ...params, _meta: meta }));
      return (await fetch(`${server.url}/mcp`, { method: 'POST', headers, body })).text();
    };
    const created = await ask('alice:edited', 'tools/call', { name: 'talk', arguments: input('hello') });
    const { taskId } = resultIn({ status: 200, text: created });
    const said = await waitFor(async () => {
      const text = await ask('alice', 'tasks/get', { taskId });
      return text.includes('"completed"') && text;
    });
    expect(said).toContain('edited hello');
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      expect(await ask('bob', method, { taskId })).toContain('-32602');
    expect(await ask('alice:idle', 'tools/call', { name: 'talk', arguments: {} })).toContain(
      'may not do this',
    );
  });
});

describe('an answer to a question of an agent', () => {
  it('shows the handler the run that it becomes, and runs as the handler leaves it', async () => {
    const contextId = randomUUID();
    const asked = JSON.parse((await viaSend('alice:edited', 'ask', 'paint', contextId)).text) as {
      result: { id: string; status: { state: string } };
    };
    expect(asked).toMatchObject({ result: { status: { state: 'input-required' } } });
    const params = message03('red', contextId, { taskId: asked.result.id });
    const { answer, seen } = await asking(() =>
      call('alice:edited', '/a2a/ask', rpc('message/send', params)),
    );
    expect(answer.text).toContain(JSON.stringify(JSON.stringify({ answer: 'edited "red"', tier: 'gold' })));
    expect(seen.find(({ event }) => event === 'threads:create_run')?.value).toMatchObject({
      thread_id: contextId,
      assistant_id: 'ask',
      multitask_strategy: 'reject',
      prevent_insert_if_inflight: true,
      kwargs: { command: { resume: 'red' } },
    });
    // a caller who may not see the task may not answer it, and does not learn that it exists
    const foreign = await call('bob', '/a2a/ask', rpc('message/send', params));
    expect(foreign.text).toContain('-32001');
  });
});

describe('a command of the thread stream protocol', () => {
  const give = (token: string, threadId: string, method: string, params: object) =>
    call(token, `/threads/${threadId}/commands`, { id: 1, method, params });

  async function stateOf(threadId: string): Promise<string> {
    const headers = { authorization: 'Bearer alice' };
    return (await fetch(`${server.url}/threads/${threadId}/state`, { headers })).text();
  }

  /** A thread whose agent has asked a question, and the id of the question. */
  async function questioned(): Promise<{ threadId: string; interruptId: string }> {
    const threadId = randomUUID();
    const { text } = await viaRest('alice', 'ask', 'paint', threadId);
    const { __interrupt__: asked } = JSON.parse(text) as { __interrupt__: { id: string }[] };
    return { threadId, interruptId: asked[0]?.id ?? '' };
  }

  it.each<[string, (interruptId: string) => object]>([
    ['run.start', () => ({ assistant_id: 'ask', input: 'red' })],
    ['input.respond', (interrupt_id) => ({ interrupt_id, response: 'red' })],
  ])('shows the handler the run that it becomes: %s', async (method, params) => {
    const { threadId, interruptId } = await questioned();
    const refused = await give('alice:idle', threadId, method, params(interruptId));
    expect(refused).toEqual({ status: 403, text: '{"detail":"This caller may not do this"}' });
    const { answer, seen } = await asking(() => give('alice:edited', threadId, method, params(interruptId)));
    expect(answer.text).toContain('"success"');
    const resume = method === 'run.start' ? 'red' : { [interruptId]: 'red' };
    expect(seen.findLast(({ event }) => event === 'threads:create_run')?.value).toMatchObject({
      thread_id: threadId,
      kwargs: { command: { resume } },
    });
    const expected = JSON.stringify({ answer: `edited ${JSON.stringify(resume)}`, tier: 'gold' });
    await waitFor(async () => (await stateOf(threadId)).includes(JSON.stringify(expected)));
  });

  it('refuses fields that no run can have, by name', async () => {
    const answer = await give('alice', randomUUID(), 'run.start', { assistant_id: 'talk', durability: 5 });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('params.durability')]);
    expect(answer.text).toContain('"invalid_argument"');
  });
});

describe('an assistant that its owner keeps', () => {
  it('neither answers nor shows itself to a caller who reaches every thread but not the assistant', async () => {
    const made = await call('alice', '/assistants', { graph_id: 'talk', name: 'private of alice' });
    const { assistant_id: id } = JSON.parse(made.text) as { assistant_id: string };
    const headers = { authorization: 'Bearer bob:team' };
    const card = await fetch(`${server.url}/a2a/${id}/.well-known/agent-card.json`, { headers });
    expect([card.status, (await card.text()).includes('private')]).toEqual([404, false]);
    for (const [name, say] of Object.entries(WAYS)) {
      const { text } = await say('bob:team', id, 'hello', randomUUID());
      expect([name, text]).toEqual([
        name,
        expect.stringMatching(/not found|No assistant found|Unknown tool/),
      ]);
      expect(saidIn(await say('alice', id, 'hello', randomUUID()))).toMatchObject({ text: 'hello' });
    }
    const tools = await call('bob:team', '/mcp', rpc('tools/list', {}));
    expect([tools.text.includes('"talk"'), tools.text.includes(id)]).toEqual([true, false]);
  });
});

describe('a task of the A2A protocol', () => {
  it('asks for the same as the runs of REST when it is read, listed and cancelled', async () => {
    const contextId = randomUUID();
    const begun = JSON.parse((await viaSend('alice', 'talk', 'hello', contextId)).text) as {
      result: { id: string };
    };
    const { id } = begun.result;
    const events = async (method: string, params: unknown): Promise<readonly Seen[]> =>
      (await asking(() => call('alice', '/a2a/talk', rpc(method, params)))).seen;
    expect(await events('tasks/get', { id })).toEqual([{ event: 'threads:read', value: {} }]);
    expect(await events('ListTasks', {})).toMatchObject([{ event: 'threads:search' }]);
    expect(await events('tasks/cancel', { id })).toMatchObject([
      { event: 'threads:update', value: { action: 'interrupt', metadata: { run_ids: [id] } } },
    ]);
  });
});
