import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { testPostgres } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';

const TALKING_AGENT = join(import.meta.dirname, '..', 'testdata', 'talking-agent');
const postgres = testPostgres();
let server: ServerProcess;
let client: Client;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase();
  server = await ServerProcess.start({ uri, folder: TALKING_AGENT });
  client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`));
  await client.connect(transport);
});

afterAll(async () => {
  await client?.close();
  await server?.stop();
});

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function post(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${server.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}

const request = (method: string, params: unknown = {}, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

describe('the official client', () => {
  it('lists every assistant as a tool with its schema', async () => {
    const made = await server
      .client()
      .assistants.create({ graphId: 'echo', name: 'my echo', description: 'Mine' });
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['echo', 'mute', 'topical', made.assistant_id]));
    expect(tools.find(({ name }) => name === 'echo')).toMatchObject({
      description: 'Repeats the last message.',
      inputSchema: { type: 'object', properties: { messages: {} } },
    });
    expect(tools.find(({ name }) => name === made.assistant_id)).toMatchObject({
      title: 'my echo',
      description: 'Mine',
    });
  });

  it('calls an agent that talks, and one that does not', async () => {
    const messages = [{ role: 'user', content: 'hello' }];
    expect(await client.callTool({ name: 'echo', arguments: { messages } })).toMatchObject({
      content: [{ type: 'text', text: '1: hello' }],
      structuredContent: { messages: [{ type: 'human' }, { type: 'ai', content: '1: hello' }] },
      isError: false,
    });
    expect(await client.callTool({ name: 'mute', arguments: { steps: 2 } })).toMatchObject({
      content: [{ type: 'text', text: '{"steps":3}' }],
      structuredContent: { steps: 3 },
    });
  });

  it('learns of failures and of questions as results', async () => {
    const messages = [{ role: 'user', content: 'hello' }];
    expect(await client.callTool({ name: 'failing', arguments: { messages } })).toMatchObject({
      isError: true,
      content: [{ text: 'RangeError: secret of the agent' }],
    });
    expect(await client.callTool({ name: 'asking', arguments: { messages } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Which colour?') }],
    });
  });

  it('fails for a tool that does not exist', async () => {
    await expect(client.callTool({ name: 'none' })).rejects.toThrow(/-32602.*Unknown tool: none/);
  });

  it('pings', async () => {
    expect(await client.ping()).toEqual({});
  });
});

describe('arguments of a tool', () => {
  it('accepts what the input of a run may hold, and no more', async () => {
    const call = (args: string, more = '') =>
      post(
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mute","arguments":${args}${more}}}`,
      );
    const odd = '{"steps":1,"steps":2,"odd":{"__proto__":{"a":1},"nul\\u0000":1}}';
    expect(await call(odd)).toMatchObject({ body: { result: { structuredContent: { steps: 3 } } } });
    const run = await fetch(`${server.url}/runs/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"assistant_id":"mute","input":${odd}}`,
    });
    expect(await run.json()).toEqual({ steps: 3 });
    expect(await call('{}', ',"name":"echo"')).toMatchObject({ status: 400 });
    expect(await call('{}', ',"__proto__":{}')).toMatchObject({ status: 400 });
  });
});

describe('a message of the protocol', () => {
  it.each<[string, unknown, number, number]>([
    ['no JSON', '{', 400, -32700],
    ['an empty body', '', 400, -32700],
    ['a body nested too deep', `${'['.repeat(5_000)}${']'.repeat(5_000)}`, 400, -32700],
    ['a batch', [request('ping')], 400, -32600],
    ['another version of JSON-RPC', { ...request('ping'), jsonrpc: '1' }, 400, -32600],
    ['an id that is a list', request('ping', {}, [1]), 400, -32600],
    ['an unknown method', request('resources/list'), 200, -32601],
    ['a method of objects', request('constructor'), 200, -32601],
    ['params that are a list', request('tools/list', [1]), 200, -32602],
    ['a cursor that was never given', request('tools/list', { cursor: 'x' }), 200, -32602],
    ['a tool without a name', request('tools/call', {}), 200, -32602],
    ['arguments that are a list', request('tools/call', { name: 'echo', arguments: [1] }), 200, -32602],
    ['a tool of objects', request('tools/call', { name: '__proto__' }), 200, -32602],
  ])('answers %s', async (_name, body, status, code) => {
    expect(await post(body)).toMatchObject({ status, body: { jsonrpc: '2.0', error: { code } } });
  });

  it('gets no answer when it has no id', async () => {
    const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect(await post(note)).toEqual({ status: 202, body: undefined });
    expect(await post({ jsonrpc: '2.0', id: 1, result: {} })).toEqual({ status: 202, body: undefined });
  });

  it.each([
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['1999-01-01', '2025-11-25'],
  ])('agrees on a revision: %s', async (wanted, agreed) => {
    expect(await post(request('initialize', { protocolVersion: wanted }))).toMatchObject({
      body: { result: { protocolVersion: agreed, capabilities: { tools: {} } } },
    });
  });

  it('fails with an unknown revision', async () => {
    expect(await post(request('ping'), { 'mcp-protocol-version': '1999-01-01' })).toMatchObject({
      status: 400,
    });
    expect(await post(request('ping'), { 'mcp-protocol-version': '2025-06-18' })).toMatchObject({
      status: 200,
    });
  });

  it('needs POST', async () => {
    const get = await fetch(`${server.url}/mcp`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await fetch(`${server.url}/mcp`, { method: 'DELETE' })).status).toBe(404);
  });
});
