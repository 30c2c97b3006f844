import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { join } from 'node:path';
import { testServer } from '../testdata/test-server.js';

const TALKING_AGENT = join(import.meta.dirname, '..', 'testdata', 'talking-agent');
const REVISION = '2026-07-28';
const META = 'io.modelcontextprotocol/';

const server = testServer({ folder: TALKING_AGENT });

/** Versions with which the client of both revisions negotiates. */
const NEGOTIATIONS = {
  [REVISION]: { mode: { pin: REVISION } },
  'the newest of both': { mode: 'auto' },
  '2025-11-25': { mode: 'legacy' },
} as const;

describe.each(Object.entries(NEGOTIATIONS))('a client of %s', (name, versionNegotiation) => {
  let client: Client;
  beforeEach(async () => {
    client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
  });
  afterEach(() => client.close());

  it('agrees on its revision', () => {
    expect(client.getNegotiatedProtocolVersion()).toBe(name === '2025-11-25' ? name : REVISION);
    expect(client.getServerVersion()).toMatchObject({ name: 'agentplane-agent-server' });
  });

  it('lists tools and calls them', async () => {
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(['echo', 'mute']));
    const messages = [{ role: 'user', content: 'hello' }];
    expect(await client.callTool({ name: 'echo', arguments: { messages } })).toMatchObject({
      content: [{ type: 'text', text: '1: hello' }],
      structuredContent: { messages: [{ type: 'human' }, { type: 'ai' }] },
      isError: false,
    });
    expect(await client.callTool({ name: 'failing', arguments: { messages } })).toMatchObject({
      isError: true,
    });
    await expect(client.callTool({ name: 'absent' })).rejects.toThrow(/Unknown tool: absent/);
  });
});

const envelope = { [`${META}protocolVersion`]: REVISION, [`${META}clientCapabilities`]: {} };

type Headers = Readonly<Record<string, string>>;

async function post(method: string, params: object, headers: Headers) {
  const response = await fetch(`${server.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}

const standard = (method: string): Headers => ({ 'mcp-protocol-version': REVISION, 'mcp-method': method });
const call = { name: 'mute', arguments: {}, _meta: envelope };

describe('a request of the stateless revision', () => {
  it('gets its type, its server and how long a list may be kept', async () => {
    const _meta = { [`${META}serverInfo`]: { name: 'agentplane-agent-server' } };
    const kept = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private', _meta };
    expect(await post('server/discover', { _meta: envelope }, standard('server/discover'))).toMatchObject({
      status: 200,
      body: {
        id: 7,
        result: {
          ...kept,
          supportedVersions: [REVISION, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
          capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
        },
      },
    });
    expect(await post('tools/list', { _meta: envelope }, standard('tools/list'))).toMatchObject({
      body: { result: kept },
    });
    for (const name of ['mute', `=?base64?${Buffer.from('mute').toString('base64')}?=`])
      expect(await post('tools/call', call, { ...standard('tools/call'), 'mcp-name': name })).toMatchObject({
        status: 200,
        body: { result: { resultType: 'complete', structuredContent: { steps: 1 }, _meta } },
      });
  });

  const wrong: readonly (readonly [string, string, object, Headers, number, number])[] = [
    [
      'without its version in a header',
      'tools/list',
      { _meta: envelope },
      { 'mcp-method': 'tools/list' },
      400,
      -32020,
    ],
    [
      'with another version in the header',
      'tools/list',
      { _meta: envelope },
      { ...standard('tools/list'), 'mcp-protocol-version': '2025-11-25' },
      400,
      -32020,
    ],
    [
      'without its method in a header',
      'tools/list',
      { _meta: envelope },
      { 'mcp-protocol-version': REVISION },
      400,
      -32020,
    ],
    ['with another method in the header', 'tools/list', { _meta: envelope }, standard('ping'), 400, -32020],
    ['without the name of its tool in a header', 'tools/call', call, standard('tools/call'), 400, -32020],
    [
      'with the name of another tool in the header',
      'tools/call',
      call,
      { ...standard('tools/call'), 'mcp-name': 'echo' },
      400,
      -32020,
    ],
    [
      'without what its client can do',
      'tools/list',
      { _meta: { [`${META}protocolVersion`]: REVISION } },
      standard('tools/list'),
      400,
      -32602,
    ],
    ['without its version in the body', 'tools/list', {}, standard('tools/list'), 400, -32602],
    ['of a method that was removed', 'initialize', { _meta: envelope }, standard('initialize'), 404, -32601],
    ['of an unknown method', 'resources/list', { _meta: envelope }, standard('resources/list'), 404, -32601],
  ];

  it.each(wrong)('fails %s', async (_title, method, params, headers, status, code) => {
    expect(await post(method, params, headers)).toMatchObject({ status, body: { id: 7, error: { code } } });
  });

  it('fails with the versions that are spoken for one that is not', async () => {
    const version = '2027-01-01';
    const _meta = { ...envelope, [`${META}protocolVersion`]: version };
    const headers = { ...standard('tools/list'), 'mcp-protocol-version': version };
    expect(await post('tools/list', { _meta }, headers)).toMatchObject({
      status: 400,
      body: {
        error: {
          code: -32022,
          data: {
            requested: version,
            supported: [REVISION, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
          },
        },
      },
    });
  });
});
