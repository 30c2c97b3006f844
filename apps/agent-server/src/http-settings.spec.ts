import { join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { sendRaw, waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const FOLDER = join(import.meta.dirname, '..', 'testdata', 'mounted');
const PREFIX = '/team/agent';
const PAGE = 'https://pages.test';
const server = testServer({ folder: FOLDER });

/** The raw path: `fetch` would normalize it. */
async function statusOf(path: string, method = 'GET'): Promise<number> {
  const { status } = await sendRaw(
    server.port,
    `${method} ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`,
  );
  return status;
}

async function preflight(
  origin: string,
  path = '/threads',
  more: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const headers = { origin, 'access-control-request-headers': 'x-api-key,x-own', ...more };
  const answer = await fetch(server.url + PREFIX + path, { method: 'OPTIONS', headers });
  expect(answer.status).toBe(204);
  const cors = [...answer.headers].filter(([name]) => /^(access-control-|vary)/.test(name));
  return Object.fromEntries(cors);
}

describe('a mounted agent', () => {
  it('serves the SDK under its prefix', async () => {
    const client = new Client({
      apiUrl: server.url + PREFIX,
      apiKey: null,
      callerOptions: { maxRetries: 0 },
    });
    const { thread_id } = await client.threads.create();
    const events: string[] = [];
    for await (const { event } of client.runs.stream(thread_id, 'seen', { input: { seen: {} } }))
      events.push(event);
    expect(events).toEqual(['metadata', 'values', 'values']);
  });

  it('serves components under its prefix', async () => {
    const answer = await fetch(`${server.url}${PREFIX}/ui/seen`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'badge' }),
    });
    const [, script = ''] = /src="([^"]+)"/.exec(await answer.text()) ?? [];
    expect(script).toContain(`${server.url}${PREFIX}/ui/seen/entrypoint.js`);
    expect((await fetch(script)).status).toBe(200);
  });

  it.each([
    [200, '/ok'],
    [200, `${PREFIX}/ok`],
    [200, `${PREFIX}/%6Fk`],
    [404, '/threads/search'],
    [404, PREFIX],
    [404, `${PREFIX}/`],
    [404, `${PREFIX}x/ok`],
    [404, `/${PREFIX}/ok`],
    [404, `${PREFIX}//ok`],
    [200, `http://a${PREFIX}/ok`],
    [404, 'http://a/threads/search'],
    [404, `http://a${PREFIX}x/ok`],
    [404, '/TEAM/agent/ok'],
    [404, '/team%2fagent/ok'],
    [404, '/team%2Fagent/ok'],
    [404, '/%74eam/agent/ok'],
    [404, '/x/../team/agent/ok'],
    [404, `${PREFIX}/../agent/ok`],
    [404, `${PREFIX}\\ok`],
    [404, '/-/outside-the-mount-prefix'],
  ])('answers %i at %s', async (status, path) => {
    expect(await statusOf(path)).toBe(status);
  });

  it.each([
    ['assistants', '/assistants/search', 'POST'],
    ['assistants', '/assistants/seen', 'GET'],
    ['store', '/store/items?key=a', 'GET'],
    ['meta', '/info', 'GET'],
    ['meta', '/docs/', 'GET'],
    ['meta', '/metrics', 'GET'],
  ])('answers 404 for what disable_%s switches off, at %s', async (group, path, method) => {
    const body = method === 'POST' ? '{}' : undefined;
    const headers = body ? { 'content-type': 'application/json' } : {};
    const answer = await fetch(server.url + PREFIX + path, { method, headers, ...(body ? { body } : {}) });
    expect([answer.status, await answer.json()]).toEqual([
      404,
      { detail: `Not found: http.disable_${group} of langgraph.json is on` },
    ]);
  });
});

describe('headers of a request', () => {
  const sent = {
    'content-type': 'application/json',
    'my-team': 'a',
    'MY-other': 'b',
    'my-secret': 'hunter2',
    'x-foo': 'c',
    'x-api-key': 'k',
    authorization: 'Bearer t',
    cookie: 'q=1',
  };

  it('reach graphs and logs where they are included and not excluded, those with credentials by name alone', async () => {
    const answer = await fetch(`${server.url}${PREFIX}/runs/wait`, {
      method: 'POST',
      headers: sent,
      body: JSON.stringify({ assistant_id: 'seen', input: { seen: {} } }),
    });
    const { seen } = (await answer.json()) as { seen: Record<string, unknown> };
    const own = /^(run_id|thread_id|graph_id|assistant_id|user_id|checkpoint_|__)/;
    expect(Object.fromEntries(Object.entries(seen).filter(([name]) => !own.test(name)))).toEqual({
      model_name: 'openai',
      'my-team': 'a',
      'my-other': 'b',
      cookie: 'q=1',
    });
    const line = await waitFor(
      async () => server.log.find(({ msg, path }) => msg === 'request answered' && path === '/runs/wait'),
      { what: 'the log line' },
    );
    expect(line).toMatchObject({ method: 'POST', status: 200 });
    expect(line).toHaveProperty('headers', { 'my-team': 'a', 'my-other': 'b' });
    expect(JSON.stringify(server.log)).not.toMatch(/hunter2|Bearer t/);
  });
});

describe('a web page', () => {
  it.each([PAGE, 'https://other.pages.test'])(
    'may read answers from %s, with credentials',
    async (origin) => {
      expect(await preflight(origin)).toEqual({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-headers': 'x-api-key,x-own',
        'access-control-allow-methods': 'GET,POST,PUT,PATCH,DELETE,OPTIONS',
        'access-control-expose-headers':
          'content-location,location,x-pagination-next,x-pagination-total,x-request-id,x-tokens',
        'access-control-max-age': '60',
        vary: 'origin, access-control-request-headers',
      });
    },
  );

  it('may open an agent in a private network, where its origin may read answers', async () => {
    const asks = { 'access-control-request-private-network': 'true' };
    expect(await preflight(PAGE, '/threads', asks)).toMatchObject({
      'access-control-allow-private-network': 'true',
    });
    expect(await preflight('https://evil.test', '/threads', asks)).toEqual({
      vary: 'origin, access-control-request-headers',
    });
  });

  it.each([
    'https://evil.test',
    'null',
    'https://pages.test.evil.test',
    'https://a.pages.test.evil.test',
    'https://evil.test/https://a.pages.test',
    'http://pages.test',
    `https://${'a'.repeat(400)}.pages.test`,
  ])('may read nothing from %s', async (origin) => {
    expect(await preflight(origin)).toEqual({ vary: 'origin, access-control-request-headers' });
  });
});
