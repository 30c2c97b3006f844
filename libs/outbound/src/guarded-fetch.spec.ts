import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AddressGuard } from './address-guard.js';
import { guardedFetch } from './guarded-fetch.js';

describe('guardedFetch', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => answer(request, response));
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b=1`;
  const fetchWith = (allowPrivate: boolean, maxBytes = 1_000): typeof fetch =>
    guardedFetch({
      guard: new AddressGuard({ allowPrivate, refuse: (why) => new Error(`refused: ${why}`) }),
      timeoutMs: 30_000,
      maxBytes,
    });

  it('sends a text with its headers, and answers status, headers and body', async () => {
    answer = (request, response) => {
      void (async () => {
        let body = '';
        for await (const piece of request) body += String(piece);
        response.writeHead(201, { 'x-seen': `${request.method} ${request.url} ${request.headers['x-a']}` });
        response.end(body.toUpperCase());
      })();
    };
    const init = { method: 'POST', headers: new Headers({ 'x-a': '1' }), body: 'äb' };
    const found = await fetchWith(true)(url(), init);
    expect([found.status, found.headers.get('x-seen'), await found.text()]).toEqual([
      201,
      'POST /a?b=1 1',
      'ÄB',
    ]);
  });

  it('follows no redirect, and answers one without a body', async () => {
    answer = (_request, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    expect((await fetchWith(true)(url())).status).toBe(302);
    answer = (_request, response) => response.writeHead(204).end();
    expect((await fetchWith(true)(url())).body).toBeNull();
  });

  it('breaks off an answer that is larger than its limit', async () => {
    answer = (_request, response) => response.end('x'.repeat(1_001));
    const found = await fetchWith(true)(url());
    await expect(found.text()).rejects.toThrow('larger than 1000 bytes');
  });

  it('ends a request that is aborted while it waits or while it is read', async () => {
    const seen = Promise.withResolvers<void>();
    answer = () => seen.resolve();
    const abort = new AbortController();
    const waiting = fetchWith(true)(url(), { signal: abort.signal });
    await seen.promise;
    abort.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');

    const closed = Promise.withResolvers<void>();
    answer = (_request, response) => {
      response.write('first');
      response.once('close', closed.resolve);
    };
    const found = await fetchWith(true)(url());
    await found.body?.cancel();
    await closed.promise;
  });

  it.each([
    ['a private address', () => fetchWith(false)(url()), 'refused: private'],
    ['another method', () => fetchWith(true)(url(), { method: 'PUT' }), 'PUT is not supported'],
    ['a server that is not there', () => fetchWith(true)('http://127.0.0.1:1/'), 'ECONNREFUSED'],
  ])('refuses %s', async (_what, ask, message) => {
    await expect(ask()).rejects.toThrow(message);
  });
});
