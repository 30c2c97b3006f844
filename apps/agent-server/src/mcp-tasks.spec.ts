import { join } from 'node:path';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

type Json = Readonly<Record<string, unknown>>;

const FOLDER = join(import.meta.dirname, '..', 'testdata', 'talking-agent');
const REVISION = '2026-07-28';
const META = 'io.modelcontextprotocol/';
const TASKS = `${META}tasks`;
const ENV = { AGENTPLANE_RUN_LEASE_MS: '1000' };
const NOBODYS = '01a2017a-7a97-7479-8f02-e1895e7b3c88';
const MESSAGES = { messages: [{ role: 'user', content: 'hello' }] };

const postgres = testPostgres();
let uri: string;
let server: ServerProcess;

beforeAll(async () => {
  uri = (await postgres.freshDatabase(prepareDatabase)).uri;
  server = await ServerProcess.start({ uri, folder: FOLDER, env: ENV });
});
afterAll(() => server?.stop('SIGKILL'));

interface Asked {
  readonly extensions?: Json;
  readonly name?: string;
  readonly at?: ServerProcess;
}

async function ask(method: string, params: Json, asked: Asked = {}): Promise<Json> {
  const { extensions = { [TASKS]: {} }, at = server } = asked;
  const { name = String(params['name'] ?? params['taskId'] ?? '') } = asked;
  const capabilities = {
    [`${META}protocolVersion`]: REVISION,
    [`${META}clientCapabilities`]: { extensions },
  };
  const response = await fetch(`${at.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: capabilities } }),
  });
  return (await response.json()) as Json;
}

async function resultOf(method: string, params: Json, asked?: Asked): Promise<Json> {
  const answer = await ask(method, params, asked);
  if (!('result' in answer)) throw new Error(JSON.stringify(answer));
  return answer['result'] as Json;
}

async function taskOf(name: string, at = server): Promise<string> {
  const task = await resultOf('tools/call', { name, arguments: MESSAGES }, { at });
  return String(task['taskId']);
}

async function ended(taskId: string, at = server): Promise<Json> {
  return waitFor(async () => {
    const task = await resultOf('tasks/get', { taskId }, { at });
    return task['status'] !== 'working' && task;
  });
}

describe('a call of a client that takes tasks', () => {
  it('becomes a task, whose result is that of the call', async () => {
    const created = await resultOf('tools/call', { name: 'echo', arguments: MESSAGES });
    expect(created).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 86_400_000 });
    const { taskId, createdAt } = created;
    expect(await ended(String(taskId))).toMatchObject({
      resultType: 'complete',
      taskId,
      createdAt,
      status: 'completed',
      result: { content: [{ type: 'text', text: '1: hello' }], isError: false },
    });
  });

  it.each([
    ['fails', 'failing', 'Error'],
    ['asks for input', 'asking', 'asks for input'],
  ])('completes with an error for the model when the agent %s', async (_what, tool, said) => {
    const text = expect.stringContaining(said) as string;
    expect(await ended(await taskOf(tool))).toMatchObject({
      status: 'completed',
      result: { content: [{ type: 'text', text }], isError: true },
    });
  });

  it('becomes a task that is cancelled on request', async () => {
    const taskId = await taskOf('endless');
    expect(await resultOf('tasks/get', { taskId })).toMatchObject({ status: 'working' });
    const acknowledged = await resultOf('tasks/cancel', { taskId });
    expect(Object.keys(acknowledged).sort()).toEqual(['_meta', 'resultType']);
    const cancelled = await ended(taskId);
    expect(cancelled).toMatchObject({ status: 'cancelled', statusMessage: 'Cancelled by request' });
    expect(cancelled).not.toHaveProperty('result');
    expect(await resultOf('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' });
  });

  it('leaves a thread that is deleted after a day', async () => {
    const taskId = await taskOf('echo');
    await ended(taskId);
    const found = await server.client().threads.search({ limit: 100 });
    const runs = await Promise.all(found.map(({ thread_id: id }) => server.client().runs.list(id)));
    const run = runs.flat().find(({ run_id: id }) => id === taskId);
    const shown = await fetch(`${server.url}/threads/${run?.thread_id}?include=ttl`);
    expect(await shown.json()).toMatchObject({ ttl: { strategy: 'delete', ttl_minutes: 1_440 } });
  });

  it('survives a server that is killed', async () => {
    const database = await postgres.freshDatabase(prepareDatabase);
    const first = await ServerProcess.start({ uri: database.uri, folder: FOLDER, env: ENV });
    const taskId = await taskOf('slow', first);
    await first.stop('SIGKILL');
    const second = await ServerProcess.start({ uri: database.uri, folder: FOLDER, env: ENV });
    expect(await ended(taskId, second)).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'at last' }] },
    });
    await second.stop('SIGKILL');
  });
});

describe('a client that does not take tasks', () => {
  it('gets the result of the call', async () => {
    const result = await resultOf('tools/call', { name: 'echo', arguments: MESSAGES }, { extensions: {} });
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: '1: hello' }] });
  });

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('gets an error from %s', async (method) => {
    const { error } = await ask(method, { taskId: NOBODYS }, { extensions: {} });
    const data = { requiredCapabilities: { extensions: { [TASKS]: {} } } };
    expect(error).toMatchObject({ code: -32021, data });
  });
});

describe('a server with tasks', () => {
  it('announces them', async () => {
    const { capabilities } = await resultOf('server/discover', {});
    expect(capabilities).toEqual({ tools: {}, extensions: { [TASKS]: {} } });
  });

  it.each([
    ['tasks/get', NOBODYS, -32602],
    ['tasks/get', 'no id', -32602],
    ['tasks/update', NOBODYS, -32602],
    ['tasks/cancel', NOBODYS, -32602],
    ['tasks/result', NOBODYS, -32601],
    ['tasks/list', NOBODYS, -32601],
  ])('answers %s of %s with %i', async (method, taskId, code) => {
    expect((await ask(method, { taskId }))['error']).toMatchObject({ code });
  });

  it('refuses a header that names another task', async () => {
    const taskId = await taskOf('echo');
    const { error } = await ask('tasks/get', { taskId }, { name: NOBODYS });
    expect(error).toMatchObject({ code: -32020 });
  });

  it('finds no run that is not a task', async () => {
    const client = server.client();
    const { thread_id: threadId } = await client.threads.create();
    const { run_id: taskId } = await client.runs.create(threadId, 'echo', { input: MESSAGES });
    expect((await ask('tasks/get', { taskId }))['error']).toMatchObject({ code: -32602 });
  });

  it('ignores answers to questions that were not asked', async () => {
    const taskId = await taskOf('echo');
    expect(await resultOf('tasks/update', { taskId, inputResponses: { x: {} } })).toMatchObject({
      resultType: 'complete',
    });
  });
});
