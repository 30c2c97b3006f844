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
  let room: ConnectionRoom;
  const clients: Socket[] = [];
  const served: Socket[] = [];

  beforeEach(async () => {
    clock = new FakeClock();
    const log = createLogger('test', 'info', openSync(logFile, 'a'));
    room = new ConnectionRoom({ clock, log, namespace: 'ws-one', most: 2 });
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

  it('makes room by cutting the one whose client alone sends, not the one whose answer gets a few bytes', async () => {
    const [stream, asking] = [await open(), await open()];
    for (const socket of served) room.begin(socket);
    await open();
    await clock.advance(60_000);
    served[0]?.write(': heartbeat');
    asking.socket.write('x'.repeat(100_000));
    await waitFor(() => served[1]?.bytesRead === 100_000);
    expect((await open()).isOpen()).toBe(true);
    await waitFor(() => !asking.isOpen());
    expect(stream.isOpen()).toBe(true);
  });

  it('makes room by cutting the one that asks for nothing, not the one that waits for its answer', async () => {
    const [waiting, answered] = [await open(), await open()];
    const [one, other] = served as [Socket, Socket];
    room.begin(one);
    const end = room.begin(other);
    await clock.advance(30_000);
    other.write('an answer');
    end();
    await clock.advance(4_000);
    expect((await open()).isOpen()).toBe(false);
    await clock.advance(1_000);
    expect((await open()).isOpen()).toBe(true);
    await waitFor(() => !answered.isOpen());
    expect(waiting.isOpen()).toBe(true);
  });

  it('looks for room at most once a second', async () => {
    await open();
    await open();
    for (const socket of served) room.begin(socket);
    await clock.advance(59_500);
    expect((await open()).isOpen()).toBe(false);
    await clock.advance(500);
    expect((await open()).isOpen()).toBe(false);
    await clock.advance(500);
    expect((await open()).isOpen()).toBe(true);
  });
});
