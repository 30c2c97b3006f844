import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeClock, waitFor } from '#lib/testing';
import { ConnectionRoom, type RoomReport } from './connection-room.js';

describe('ConnectionRoom', () => {
  let server: Server;
  const reports: RoomReport[] = [];
  let clock: FakeClock;
  let room: ConnectionRoom;
  const clients: Socket[] = [];
  const served: Socket[] = [];

  const roomFor = (most: number): ConnectionRoom =>
    new ConnectionRoom({ clock, most, onFull: (report) => reports.push(report) });

  beforeEach(async () => {
    reports.length = 0;
    clock = new FakeClock();
    room = roomFor(2);
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

  /** Opens a connection. `isOpen` is true while the server keeps it. */
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
    const first = await open();
    await open();
    for (const socket of served) room.begin(socket);
    expect([(await open()).isOpen(), first.isOpen()]).toEqual([false, true]);
    first.socket.destroy();
    await waitFor(() => served[0]?.destroyed);
    expect((await open()).isOpen()).toBe(true);
  });

  it('makes room by cutting the oldest that has not asked for anything', async () => {
    const [asking, older] = [await open(), await open()];
    room.begin(served[0] as Socket);
    expect((await open()).isOpen()).toBe(true);
    await waitFor(() => !older.isOpen());
    expect(asking.isOpen()).toBe(true);
  });

  it('cuts new ones before an idle one only where most have not asked for anything', async () => {
    room = roomFor(4);
    const all = [await open(), await open(), await open(), await open()];
    const [idle, fresh] = all as [(typeof all)[0], (typeof all)[0]];
    room.begin(served[0] as Socket)();
    await clock.advance(10_000);
    await open();
    await waitFor(() => !fresh.isOpen());
    expect(idle.isOpen()).toBe(true);
    for (const socket of served.slice(2)) room.begin(socket);
    await open();
    await waitFor(() => !idle.isOpen());
  });

  it('counts a connection by its request although TLS gave it another socket', async () => {
    const [first, other] = [await open(), await open()];
    const { remoteAddress, remotePort, localPort } = served[0] as Socket;
    room.begin({ remoteAddress, remotePort, localPort, bytesWritten: 0 } as Socket);
    await open();
    await waitFor(() => !other.isOpen());
    expect(first.isOpen()).toBe(true);
  });

  it('reports once a minute that connections are cut', async () => {
    for (let n = 0; n < 6; n++) await open();
    expect(reports).toEqual([{ open: expect.any(Number), cut: 1 }]);
    await clock.advance(60_000);
    await open();
    expect(reports[1]?.cut).toBe(4);
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
