import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AddressGuard } from './address-guard.js';
import { guardedRequest } from './guarded-request.js';

const guard = new AddressGuard({ allowPrivate: true, refuse: (why) => new Error(why) });
const OK = 'HTTP/1.1 200 OK\r\nconnection: close\r\n';

describe('guardedRequest', () => {
  let write: (socket: Socket) => void;
  const server = createServer(({ socket }) => write(socket));
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  function ask(): Promise<IncomingMessage> {
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return new Promise((resolve, reject) => {
      const options = { method: 'GET', headers: {}, timeoutMs: 10_000 } as const;
      guardedRequest(url, options, guard, reject).on('response', resolve).end();
    });
  }

  it.each([
    ['takes an answer after a few interim ones', 20, 200],
    ['ends a request that gets thousands of interim answers', 5_000, /interim answers/],
  ])('%s', async (_, count, expected) => {
    write = (socket) =>
      socket.write(`${'HTTP/1.1 103 \r\n\r\n'.repeat(count)}${OK}content-length: 0\r\n\r\n`);
    const found = await ask().then(
      (response) => response.statusCode,
      (error: unknown) => String(error),
    );
    expect(found).toEqual(typeof expected === 'number' ? expected : expect.stringMatching(expected));
  });

  it('reads no further in an answer that is paused', async () => {
    write = (socket) =>
      socket.write(`${OK}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(200_000)}`);
    const response = await ask();
    response.once('data', () => response.pause());
    while (response.socket.isPaused() === false) await nextTurn();
    // each byte is a piece; one read of a connection has 64 KB at most
    expect(response.readableLength).toBeLessThan(65_536 / 6);
    response.destroy();
  });
});
