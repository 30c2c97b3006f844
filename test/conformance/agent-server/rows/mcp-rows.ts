import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { send } from '../clients/raw-http.js';
import { type Checks, rowsOf, type Target } from '../target.js';

const messages = [{ role: 'user', content: 'hello' }];

async function withClient({ url, headers }: Target, check: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ name: 'conformance', version: '1' });
  const requestInit = { headers: { ...headers } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  try {
    await check(client);
  } finally {
    await client.close();
  }
}

const CHECKS: Checks<[Client]> = {
  'lists every graph as a tool with its schema': async (client) => {
    const { tools } = await client.listTools();
    const echo = tools.find(({ name }) => name === 'echo');
    expect(echo).toMatchObject({
      description: 'Repeats the last message.',
      inputSchema: { type: 'object', properties: { messages: expect.anything() as unknown } },
    });
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['asking', 'counter', 'slow']));
  },
  'calls graphs that talk and graphs that do not': async (client) => {
    expect(await client.callTool({ name: 'echo', arguments: { messages } })).toMatchObject({
      content: [{ type: 'text', text: '1: hello' }],
      isError: false,
    });
    expect(await client.callTool({ name: 'counter', arguments: {} })).toMatchObject({
      structuredContent: { steps: ['step 1'] },
    });
  },
  'answers a failure and a question as errors of the tool': async (client) => {
    expect(await client.callTool({ name: 'failing', arguments: { messages } })).toMatchObject({
      isError: true,
    });
    expect(await client.callTool({ name: 'asking', arguments: { messages } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Which colour?') as unknown }],
    });
  },
  'refuses a tool that does not exist': async (client) => {
    await expect(client.callTool({ name: 'absent' })).rejects.toThrow(/-32602/);
  },
  'answers a ping': async (client) => {
    expect(await client.ping()).toEqual({});
  },
};

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
      const headers = { accept: 'application/json, text/event-stream' };
      const unknown = await send(target, 'POST', '/mcp', {
        ...{ headers, body: { jsonrpc: '2.0', id: 1, method: 'resources/list' } },
      });
      expect([unknown.status, unknown.body]).toMatchObject([200, { error: { code: -32601 } }]);
    },
  }),
];
