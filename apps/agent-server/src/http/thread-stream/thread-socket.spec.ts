import { once } from 'node:events';
import { createServer, ServerResponse, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { Admission } from '#lib/admission';
import { createLogger } from '#lib/telemetry';
import { FakeClock, quietFor, waitFor } from '#lib/testing';
import { UnsentOutput } from '../unsent-output.js';
import { ThreadFeed } from './thread-feed.js';
import { ThreadSocket } from './thread-socket.js';

const MEGABYTE = 2 ** 20;

/** Connections to sockets that do not answer until the test asks for it. */
function serverOf() {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const clock = new FakeClock();
  const room = new Admission({ capacity: 2 * MEGABYTE, halves: true, refusal: 'no room' });
  const cuts: string[] = [];
  const limits = { softBytes: MEGABYTE, hardBytes: MEGABYTE, lookMs: 500 };
  const unsent = new UnsentOutput({ clock, limits, onCut: ({ reason }) => cuts.push(reason) });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let asked = 0;
  const answer = async (message: Buffer): Promise<string> => {
    asked++;
    const text = message.toString();
    if (text === 'broken') throw new Error('the answer broke');
    if (text === 'much') return JSON.stringify({ type: 'x'.repeat(MEGABYTE) });
    await released;
    return JSON.stringify({ type: 'success' });
  };
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    sockets.handleUpgrade(request, socket, head, (opened) => {
      const feed = new ThreadFeed(
        () => ({ take: () => undefined, close: () => undefined }),
        () => undefined,
      );
      new ThreadSocket(opened, response, feed, answer, {
        unsent,
        clock,
        room,
        log: createLogger('test', 'silent'),
      });
    });
  });
  const connect = async (): Promise<WebSocket> => {
    const { port } = server.address() as AddressInfo;
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { autoPong: false });
    socket.on('error', () => undefined); // it may be reset
    await once(socket, 'open');
    return socket;
  };
  return { server, connect, room, release, asked: () => asked, clock, cuts };
}

let at: ReturnType<typeof serverOf>;

beforeEach(async () => {
  at = serverOf();
  at.server.listen(0, '127.0.0.1');
  await once(at.server, 'listening');
});

afterEach(() => at.server.close());

describe('ThreadSocket', () => {
  it('closes the connection whose unfinished message finds no room beside those of others', async () => {
    const [first, second] = [await at.connect(), await at.connect()];
    first.send('x'.repeat(1.5 * MEGABYTE), { fin: false });
    await waitFor(() => at.room.held >= 1.5 * MEGABYTE);
    second.send('x'.repeat(1.5 * MEGABYTE), { fin: false });
    expect((await once(second, 'close'))[0]).toBe(1013);
    expect(at.room.held).toBeLessThan(1.6 * MEGABYTE);
    first.terminate();
    await waitFor(() => at.room.held === 0);
  });

  it('does not read on while commands wait', async () => {
    const socket = await at.connect();
    const commands = 20_000;
    for (let n = 0; n < commands; n++) socket.send('x'.repeat(1_000));
    await waitFor(() => at.asked() === 1 && socket.bufferedAmount > 0);
    expect(at.room.held).toBeLessThan(MEGABYTE);
    at.release();
    await waitFor(() => at.asked() === commands);
    socket.terminate();
  });

  it('makes no further answers for a client that does not read, and all of them once it reads', async () => {
    const socket = await at.connect();
    socket.pause();
    const commands = 60;
    for (let n = 0; n < commands; n++) socket.send('much');
    await waitFor(() => at.asked() > 0);
    await quietFor(300);
    expect(at.asked()).toBeLessThan(40); // the kernel holds some megabytes of answers
    socket.resume();
    await waitFor(() => at.asked() === commands);
    socket.terminate();
  });

  it('cuts a client whose message does not arrive whole', async () => {
    const socket = await at.connect();
    const closed = once(socket, 'close');
    socket.send('x'.repeat(MEGABYTE), { fin: false });
    await waitFor(() => at.room.held >= MEGABYTE);
    for (let n = 0; n < 10 && socket.readyState === socket.OPEN; n++) {
      socket.pong();
      await waitFor(() => socket.bufferedAmount === 0);
      await at.clock.advance(15_000);
    }
    expect((await closed)[0]).toBe(1008);
    expect(at.room.held).toBe(0);
  });

  it('counts pings as no message that arrives', async () => {
    const socket = await at.connect();
    for (let n = 0; n < 50; n++) {
      const ponged = once(socket, 'pong');
      socket.ping('x'.repeat(100));
      await ponged;
    }
    expect(at.room.held).toBe(0);
    socket.terminate();
  });

  it('closes the connection whose command cannot be answered', async () => {
    const socket = await at.connect();
    const closed = once(socket, 'close');
    socket.send('broken');
    expect((await closed)[0]).toBe(1011);
  });

  it('cuts a client that answers no ping and reads nothing', async () => {
    const socket = await at.connect();
    const closed = once(socket, 'close');
    await at.clock.advance(60_000);
    expect((await closed)[0]).toBe(1006);
    expect(at.cuts).toEqual([expect.stringContaining('ping')]);
  });
});
