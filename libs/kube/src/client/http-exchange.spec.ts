import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { certificateOnly } from '../connection/kube-connection.js';
import { HttpExchange, type Outgoing } from './http-exchange.js';

interface Seen {
  readonly method: string | undefined;
  readonly length: string | undefined;
  readonly chunked: boolean;
  readonly body: string;
}

const GET: Outgoing = { method: 'GET', path: '/', headers: {}, headTimeoutMs: 30_000, bodyTimeoutMs: 30_000 };

describe('HttpExchange', () => {
  let server: Server;
  let exchange: HttpExchange;
  const seen: Seen[] = [];
  const sockets: Socket[] = [];

  beforeEach(async () => {
    seen.length = 0;
    sockets.length = 0;
    server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
      request.on('end', () => {
        const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
        seen.push({ method: request.method, length, chunked: encoding !== undefined, body });
        if (request.url === '/silent') return;
        response.write('a');
        if (request.url !== '/endless') response.end('b');
      });
    });
    server.on('connection', (socket) => sockets.push(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    exchange = new HttpExchange({
      server: `http://127.0.0.1:${port}`,
      auth: certificateOnly,
      namespace: 'default',
    });
  });
  afterEach(async () => {
    exchange.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function textOf(outgoing: Outgoing): Promise<string> {
    const answer = await exchange.send('requests', outgoing);
    return Buffer.concat(await answer.toArray()).toString('utf8');
  }

  it('takes one connection for requests after one another, another one for a stream', async () => {
    for (let round = 0; round < 3; round++) expect(await textOf(GET)).toBe('ab');
    expect(sockets).toHaveLength(1);
    await exchange.send('streams', { ...GET, path: '/endless' });
    expect(sockets).toHaveLength(2);
  });

  it.each(['POST', 'PATCH', 'DELETE'])('sends the body of a %s with its length in bytes', async (method) => {
    await textOf({ ...GET, method, body: 'größe' });
    expect(seen).toEqual([{ method, length: '7', chunked: false, body: 'größe' }]);
  });

  it('gives up an answer that does not begin', async () => {
    const sending = exchange.send('requests', { ...GET, path: '/silent', headTimeoutMs: 20 });
    await expect(sending).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('gives up an answer that stops', async () => {
    const answer = await exchange.send('streams', { ...GET, path: '/endless', bodyTimeoutMs: 20 });
    await expect(answer.toArray()).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('waits for a silent stream without a limit when none is given', async () => {
    const answer = await exchange.send('streams', { ...GET, path: '/endless', bodyTimeoutMs: 0 });
    expect(answer.socket.timeout).toBe(0);
  });

  it('breaks the connection of an aborted request, before and after the head', async () => {
    const before = new AbortController();
    const sending = exchange.send('requests', { ...GET, path: '/silent', signal: before.signal });
    await waitFor(() => seen.length === 1);
    before.abort();
    await expect(sending).rejects.toMatchObject({ name: 'AbortError' });
    const after = new AbortController();
    const answer = await exchange.send('streams', { ...GET, path: '/endless', signal: after.signal });
    after.abort();
    await expect(answer.toArray()).rejects.toThrow();
    await waitFor(() => sockets.every((socket) => socket.destroyed));
  });

  it('breaks what is under way when it is closed, and sends nothing more', async () => {
    const answer = await exchange.send('streams', { ...GET, path: '/endless' });
    const reading = answer.toArray();
    const sending = exchange.send('requests', { ...GET, path: '/silent' });
    await waitFor(() => seen.length === 2);
    exchange.close();
    await expect(sending).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    await expect(reading).rejects.toThrow();
    await expect(exchange.send('requests', GET)).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    await waitFor(() => sockets.every((socket) => socket.destroyed));
  });
});
