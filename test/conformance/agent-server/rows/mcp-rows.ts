import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type RawAnswer, send } from '../clients/raw-http.js';
import { sdkClient } from '../clients/sdk-client.js';
import { type Checks, rowsOf, type Target } from '../target.js';

const messages = [{ role: 'user', content: 'hello' }];

async function withClient(
  target: Target,
  check: (client: Client, target: Target) => Promise<void>,
): Promise<void> {
  const { url, headers } = target;
  const client = new Client({ name: 'conformance', version: '1' });
  const requestInit = { headers: { ...headers } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  try {
    await check(client, target);
  } finally {
    await client.close();
  }
}

const CHECKS: Checks<[Client, Target]> = {
  'lists every assistant as a tool with its schema': async (client, target) => {
    const made = await sdkClient(target).assistants.create({
      graphId: 'echo',
      name: 'my echo',
      description: 'Mine',
    });
    const { tools } = await client.listTools();
    const echo = tools.find(({ name }) => name === 'echo');
    expect(echo).toMatchObject({
      description: 'Repeats the last message.',
      inputSchema: { type: 'object', properties: { messages: expect.anything() as unknown } },
    });
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['asking', 'counter', 'slow']));
    expect(tools.find(({ name }) => name === made.assistant_id)).toMatchObject({
      title: 'my echo',
      description: 'Mine',
    });
  },
  'calls graphs that talk and graphs that do not': async (client) => {
    expect(await client.callTool({ name: 'echo', arguments: { messages } })).toMatchObject({
      content: [{ type: 'text', text: '1: hello' }],
      structuredContent: { messages: [{ type: 'human' }, { type: 'ai', content: '1: hello' }] },
      isError: false,
    });
    expect(await client.callTool({ name: 'counter', arguments: {} })).toMatchObject({
      content: [{ type: 'text', text: '{"steps":["step 1"]}' }],
      structuredContent: { steps: ['step 1'] },
    });
  },
  'answers a failure and a question as errors of the tool': async (client) => {
    expect(await client.callTool({ name: 'failing', arguments: { messages } })).toMatchObject({
      isError: true,
      content: [{ text: 'RangeError: the node gave up' }],
    });
    expect(await client.callTool({ name: 'asking', arguments: { messages } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Which colour?') as unknown }],
    });
  },
  'refuses a tool that does not exist': async (client) => {
    await expect(client.callTool({ name: 'absent' })).rejects.toThrow(/-32602.*Unknown tool: absent/);
  },
  'answers a ping': async (client) => {
    expect(await client.ping()).toEqual({});
  },
};

const request = (method: string, params: unknown = {}, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

function post(target: Target, body: unknown, more: Record<string, string> = {}): Promise<RawAnswer> {
  const headers = { accept: 'application/json, text/event-stream', ...more };
  return send(target, 'POST', '/mcp', { ...(typeof body === 'string' ? { text: body } : { body }), headers });
}

/** Messages that are answered with an error, its status and its code. */
const WRONG: readonly (readonly [title: string, body: unknown, status: number, code: number])[] = [
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
];

const REVISIONS = { '2025-06-18': '2025-06-18', '2025-03-26': '2025-03-26', '1999-01-01': '2025-11-25' };

export const MCP_ROWS = [
  ...rowsOf(
    'MCP SDK',
    Object.fromEntries(
      Object.entries(CHECKS).map(([name, check]) => [name, (target: Target) => withClient(target, check)]),
    ),
  ),
  ...rowsOf('raw HTTP', {
    'takes MCP by POST alone': async (target) => {
      const get = await send(target, 'GET', '/mcp');
      expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
      expect((await send(target, 'DELETE', '/mcp')).status).toBe(404);
    },
    'answers MCP errors with their codes': async (target) => {
      for (const [title, body, status, code] of WRONG) {
        const answer = await post(target, body);
        expect([title, answer]).toMatchObject([title, { status, body: { jsonrpc: '2.0', error: { code } } }]);
      }
    },
    'answers nothing to a message of MCP without an id': async (target) => {
      const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
      for (const body of [note, { jsonrpc: '2.0', id: 1, result: {} }])
        expect(await post(target, body)).toMatchObject({ status: 202, text: '' });
    },
    'agrees on a revision of MCP, and fails with an unknown one': async (target) => {
      for (const [protocolVersion, agreed] of Object.entries(REVISIONS))
        expect(await post(target, request('initialize', { protocolVersion }))).toMatchObject({
          body: { result: { protocolVersion: agreed, capabilities: { tools: {} } } },
        });
      for (const [version, status] of [
        ['1999-01-01', 400],
        ['2025-06-18', 200],
      ] as const)
        expect((await post(target, request('ping'), { 'mcp-protocol-version': version })).status).toBe(
          status,
        );
    },
    'accepts as arguments of a tool what the input of a run may hold, and no more': async (target) => {
      const call = (args: string, more = '') =>
        post(
          target,
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"counter","arguments":${args}${more}}}`,
        );
      const odd = '{"steps":["a"],"steps":["b"],"odd":{"__proto__":{"a":1},"nul\\u0000":1}}';
      const steps = ['b', 'step 2'];
      expect((await call(odd)).body).toMatchObject({ result: { structuredContent: { steps } } });
      const text = `{"assistant_id":"counter","input":${odd}}`;
      expect((await send(target, 'POST', '/runs/wait', { text })).body).toEqual({ steps });
      expect((await call('{}', ',"name":"echo"')).status).toBe(400);
      expect((await call('{}', ',"__proto__":{}')).status).toBe(400);
    },
  }),
];
