import { sendRaw } from '#lib/testing';
import { type TestServer, testServer } from '../testdata/test-server.js';

const PAGE = 'https://pages.test';
const server = testServer();
const choosy = testServer({ env: { CORS_ALLOW_ORIGINS: `${PAGE}, https://others.test` } });

describe('an answer', () => {
  it.each([
    ['a request line that is none', 'NONSENSE\r\n\r\n', 400],
    ['no Host header', 'GET /ok HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    ['headers of 20 kB', `GET /ok HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['an expectation', 'GET /ok HTTP/1.1\r\nhost: a\r\nconnection: close\r\nexpect: tea\r\n\r\n', 417],
  ])('has the shape of every error for %s', async (_, text, status) => {
    const answer = await sendRaw(server.port, text);
    expect(answer).toMatchObject({
      status,
      headers: { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
    });
    expect(Object.keys(JSON.parse(answer.body) as object)).toEqual(['detail']);
  });

  it.each([
    ['data', 'POST', '/threads', '{}', 'no-store'],
    [
      'a stream',
      'POST',
      '/runs/stream',
      '{"assistant_id": "counter", "input": {}}',
      'no-store, no-transform',
    ],
    [
      'an answer that is waited for',
      'POST',
      '/runs/wait',
      '{"assistant_id": "counter", "input": {}}',
      'no-store',
    ],
    ['a refusal', 'POST', '/threads', '{', 'no-store'],
  ])('says for %s that it is neither stored nor guessed at', async (_, method, path, body, cache) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(server.url + path, { method, body, headers });
    await answer.text();
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('cache-control')).toBe(cache);
  });
});

describe('CORS', () => {
  const ask = async (to: TestServer, method: string, origin: string) => {
    const headers = { origin, 'access-control-request-headers': 'x-api-key' };
    const answer = await fetch(`${to.url}/info`, { method, headers });
    await answer.text();
    return ['access-control-allow-origin', 'access-control-allow-headers', 'vary'].map((name) =>
      answer.headers.get(name),
    );
  };

  it('allows every origin by default', async () => {
    expect(await ask(server, 'GET', PAGE)).toEqual(['*', null, null]);
    expect(await ask(server, 'OPTIONS', PAGE)).toEqual(['*', 'x-api-key', 'access-control-request-headers']);
  });

  it('allows the origins that CORS_ALLOW_ORIGINS names', async () => {
    expect(await ask(choosy, 'GET', PAGE)).toEqual([PAGE, null, 'origin']);
    expect(await ask(choosy, 'OPTIONS', PAGE)).toEqual([
      PAGE,
      'x-api-key',
      'origin, access-control-request-headers',
    ]);
    expect(await ask(choosy, 'GET', 'https://evil.test')).toEqual([null, null, 'origin']);
  });

  it.each<[string, () => TestServer, string | undefined, number]>([
    ['no page', () => choosy, undefined, 200],
    ['an allowed page', () => choosy, PAGE, 200],
    ['a page of the server itself', () => choosy, 'own', 200],
    ['another page', () => choosy, 'https://evil.test', 403],
    ['a page without an origin', () => choosy, 'null', 403],
    ['any page where all are allowed', () => server, 'https://evil.test', 200],
  ])('decides which pages use MCP: %s', async (_, of, origin, status) => {
    const { url } = of();
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(origin === undefined ? {} : { origin: origin === 'own' ? url : origin }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
    expect(answer.status).toBe(status);
    if (status === 403) expect(await answer.text()).toContain('CORS_ALLOW_ORIGINS');
  });
});
