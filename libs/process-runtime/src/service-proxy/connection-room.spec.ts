import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder, waitFor } from '#lib/testing';
import { join } from 'node:path';
import { ConnectionRoom } from './connection-room.js';

describe('ConnectionRoom', () => {
  let server: Server;
  const logFile = join(temporaryFolder(), 'log');
  let clock: FakeClock;
  const clients: Socket[] = [];
  const served: Socket[] = [];

  beforeEach(async () => {
    clock = new FakeClock();
    const log = createLogger('test', 'info', openSync(logFile, 'a'));
    const room = new ConnectionRoom({ clock, log, namespace: 'ws-one', most: 2 });
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      if (room.admit(socket)) served.push(socket.resume());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    for (const socket of [...clients.splice(0), ...served.splice(0)]) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Whether the server has kept the connection. */
  async function open(): Promise<{ socket: Socket; isOpen: () => boolean }> {
    const { port } = server.address() as AddressInfo;
    const before = served.length;
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    clients.push(socket);
    await waitFor(() => served.length > before || socket.destroyed);
    return { socket, isOpen: () => !socket.destroyed };
  }

  it('cuts one connection more than there is room for, until another ends', async () => {
    const [first, , third] = [await open(), await open(), await open()];
    expect([first.isOpen(), third.isOpen()]).toEqual([true, false]);
    first.socket.destroy();
    await waitFor(() => served[0]?.destroyed);
    expect((await open()).isOpen()).toBe(true);
  });

  it('logs once a minute that connections are cut', async () => {
    const lines = (): string[] =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line.includes('ws-one'));
    const before = lines().length;
    for (let n = 0; n < 4; n++) await open();
    expect(lines()).toHaveLength(before + 1);
  });

  it('makes room by cutting the one that took a byte in a minute, not the one in use', async () => {
    const [busy, idle] = [await open(), await open()];
    await open();
    await clock.advance(60_000);
    busy.socket.write('x'.repeat(1_024));
    idle.socket.write('x');
    await waitFor(() => served[0]?.bytesRead === 1_024 && served[1]?.bytesRead === 1);
    expect((await open()).isOpen()).toBe(true);
    await waitFor(() => !idle.isOpen());
    expect(busy.isOpen()).toBe(true);
  });
});
