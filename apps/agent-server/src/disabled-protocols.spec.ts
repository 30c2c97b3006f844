import { join } from 'node:path';
import { testServer } from '../testdata/test-server.js';

const server = testServer({ folder: join(import.meta.dirname, '..', 'testdata', 'silent-agent') });

const ping = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"jsonrpc":"2.0","id":1}',
};

describe('an agent that switches protocols off', () => {
  it.each([
    ['/.well-known/agent-card.json?assistant_id=echo', {}],
    ['/a2a/echo/.well-known/agent-card.json', {}],
    ['/a2a/echo', ping],
    ['/mcp', ping],
    ['/mcp', {}],
    ['/mcp', { method: 'DELETE' }],
    ['/ag-ui/echo', ping],
    ['/ui/echo', ping],
    ['/ui/echo/entrypoint.js', {}],
    ['/chat', {}],
    ['/chat/threads', {}],
  ])('answers 404 at %s', async (path, init) => {
    expect((await fetch(server.url + path, init)).status).toBe(404);
  });

  it('describes nothing of them, and serves the rest', async () => {
    const document = await (await fetch(`${server.url}/openapi.json`)).text();
    expect(document).toContain('/threads/{thread_id}/runs/stream');
    expect(document).not.toMatch(/a2a|agent-card|mcp|ag-ui|\/ui\/|\/chat/i);
    const { thread_id } = await server.client().threads.create();
    const input = { messages: [{ role: 'user', content: 'x' }] };
    expect(await server.client().runs.wait(thread_id, 'echo', { input })).toMatchObject({
      messages: [{ type: 'human' }, { type: 'ai', content: 'hello' }],
    });
  });
});
