import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { FakeClock, waitFor } from '#lib/testing';
import { answerBrokenRequests } from './guard-server.js';
import { type Cut, limitServer } from './limit-server.js';
import { SERVER_LIMITS, serverOptions } from './server-limits.js';

const HEAD = 'POST /things?key=secret HTTP/1.1\r\nhost: test\r\n';
/** Buffer that exceeds those of the kernel for a peer that does not read. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');

let server: Server;
let clock: FakeClock;
let cuts: Cut[];
const clients: Socket[] = [];

async function listen(handler: RequestListener, limits = SERVER_LIMITS): Promise<void> {
  server = createServer(serverOptions(limits), handler);
  answerBrokenRequests(server);
  limitServer(server, { limits, clock, onCut: (cut) => cuts.push(cut) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

function open(text: string): { socket: Socket; received: () => string } {
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  clients.push(socket);
  let received = '';
  socket.on('data', (part) => (received += part.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(text);
  return { socket, received: () => received };
}

async function nextRequest(): Promise<IncomingMessage> {
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  return request;
}

/** Reads bodies and answers with their length. */
const reads: RequestListener = (request, response) => {
  let length = 0;
  request.on('data', (part: Buffer) => (length += part.length));
  request.on('error', () => undefined);
  request.on('end', () => response.end(String(length)));
};

beforeEach(() => {
  clock = new FakeClock();
  cuts = [];
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('limitServer, without requests', () => {
  it('looks at nothing, and ceases to look once the last request has ended', async () => {
    await listen(reads);
    expect(clock.pending).toBe(0);
    const { received } = open(`${HEAD}content-length: 1\r\n\r\n1`);
    await waitFor(() => received().endsWith('1'));
    expect(clock.pending).toBe(1);
    await clock.advance(2_500);
    await waitFor(() => clock.pending === 0);
  });
});

describe('limitServer, for a client that stops sending', () => {
  it('cuts a client in the middle of its headers', async () => {
    await listen(reads, { ...SERVER_LIMITS, headersMs: 200, checkMs: 50 });
    const { socket, received } = open(HEAD);
    await waitFor(() => socket.destroyed);
    expect(received()).toMatch(/^HTTP\/1.1 408 /);
  });

  it('answers 408 and cuts a client whose body stays away for 30 s', async () => {
    await listen(reads);
    const { socket, received } = open(`${HEAD}content-length: 10\r\n\r\n12345`);
    await nextRequest();
    await clock.advance(27_500);
    expect(cuts).toEqual([]);
    await clock.advance(5_000);
    await waitFor(() => socket.destroyed);
    expect(received()).toMatch(
      /^HTTP\/1.1 408 .*connection: close.*"detail":"The request did not arrive in time"/is,
    );
    expect(cuts).toEqual([
      { kind: 'body', reason: 'no byte of the body for 30 s', method: 'POST', path: '/things' },
    ]);
  });

  it('cuts a client that sends a byte every 5 s', async () => {
    await listen(reads);
    const { socket } = open(`${HEAD}content-length: 1000\r\n\r\n`);
    const request = await nextRequest();
    for (let sent = 0; sent < 8 && cuts.length === 0; sent++) {
      const before = request.socket.bytesRead;
      socket.write('x');
      await waitFor(() => request.socket.bytesRead > before);
      await clock.advance(5_000);
    }
    expect(cuts).toEqual([expect.objectContaining({ reason: expect.stringContaining('bytes/s') })]);
  });

  it('cuts a client whose body has no end', async () => {
    await listen(reads, { ...SERVER_LIMITS, bodyTotalMs: 60_000, bodyBytesPerSecond: 0 });
    const { socket } = open(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
    const request = await nextRequest();
    for (let sent = 0; sent < 15 && cuts.length === 0; sent++) {
      const before = request.socket.bytesRead;
      socket.write('1\r\nx\r\n');
      await waitFor(() => request.socket.bytesRead > before);
      await clock.advance(5_000);
    }
    expect(cuts).toEqual([expect.objectContaining({ reason: 'the body did not end within 60 s' })]);
  });

  it('cuts a client whose body was not waited for by its answer', async () => {
    await listen((_request, response) => response.writeHead(413).end());
    const { socket, received } = open(`${HEAD}content-length: 10\r\n\r\n12345`);
    await waitFor(() => received().includes(' 413 '));
    await clock.advance(35_000);
    await waitFor(() => socket.destroyed);
    expect(cuts).toHaveLength(1);
  });

  it('cuts a client that drips into a body that is no longer read since the answer is sent', async () => {
    await listen((request, response) => {
      request.once('data', () => {
        request.pause(); // as a proxy leaves it whose other side has answered
        response.writeHead(401).end();
      });
    });
    const { socket, received } = open(`${HEAD}content-length: 100000\r\n\r\n1`);
    await waitFor(() => received().includes(' 401 '));
    for (let n = 0; n < 20 && !socket.destroyed && cuts.length === 0; n++) {
      socket.write('x');
      await clock.advance(2_500);
    }
    await waitFor(() => socket.destroyed);
    expect(cuts).toEqual([expect.objectContaining({ kind: 'body' })]);
  });
});

describe('limitServer, for a client that stops reading', () => {
  it('cuts a client that takes no byte for 30 s', async () => {
    await listen((_request, response) => response.end(LARGE));
    const { socket } = open(`${HEAD}\r\n`);
    socket.pause();
    const request = await nextRequest();
    await clock.advance(60_000);
    expect(cuts).toEqual([
      expect.objectContaining({
        kind: 'answer',
        reason: expect.stringMatching(/nothing read for \d+ s; \d+ bytes/),
      }),
    ]);
    await waitFor(() => request.socket.destroyed);
  });

  it.each<[string, number, number]>([
    ['serves a client that reads a little now and then', 4_000, 0],
    ['cuts a client that reads slower than the limit', 400_000, 1],
  ])('%s', async (_title, answerBytesPerSecond, cut) => {
    await listen((_request, response) => response.end(LARGE), { ...SERVER_LIMITS, answerBytesPerSecond });
    const { socket } = open(`${HEAD}\r\n`);
    let [seen, wanted] = [0, 0];
    socket.on('data', (part: Buffer) => {
      seen += part.length;
      if (seen >= wanted) socket.pause();
    });
    await nextRequest();
    for (let turns = 0; turns < 8 && cuts.length === 0; turns++) {
      wanted = seen + 3 * 1024 * 1024; // so that a window opens
      socket.resume();
      await waitFor(() => seen >= wanted);
      await clock.advance(20_000);
    }
    expect(cuts).toHaveLength(cut);
    for (const { reason } of cuts) expect(reason).toMatch(/read with \d+\.\d bytes\/s, less than 400000/);
  });

  it('serves a client that is late for each event and then takes all of it', async () => {
    const event = LARGE.subarray(0, 16 * 1024 * 1024);
    let answer: ServerResponse | undefined;
    await listen((_request, response) => void (answer = response));
    const { socket } = open(`${HEAD}\r\n`);
    await waitFor(() => answer);
    for (let events = 0; events < 6 && cuts.length === 0; events++) {
      socket.pause();
      answer?.write(event);
      await clock.advance(10_000);
      socket.resume();
      await waitFor(() => cuts.length > 0 || answer?.writableLength === 0);
      await clock.advance(2_500);
    }
    expect(cuts).toEqual([]);
  });

  it('cuts a client that reads much at once and the rest too slowly', async () => {
    const limits = { ...SERVER_LIMITS, answerBytesPerSecond: 400_000 };
    await listen((_request, response) => response.end(Buffer.concat([LARGE, LARGE])), limits);
    const { socket } = open(`${HEAD}\r\n`);
    let [seen, wanted] = [0, LARGE.length];
    socket.on('data', (part: Buffer) => {
      seen += part.length;
      if (seen >= wanted) socket.pause();
    });
    socket.pause();
    await nextRequest();
    await clock.advance(2_500);
    socket.resume();
    await waitFor(() => seen >= wanted);
    for (let turns = 0; turns < 6 && cuts.length === 0; turns++) {
      await clock.advance(12_500);
      wanted = seen + 3 * 1024 * 1024; // so that a window opens
      socket.resume();
      await waitFor(() => seen >= wanted || cuts.length > 0);
    }
    expect(cuts).toEqual([expect.objectContaining({ reason: expect.stringContaining('less than 400000') })]);
  });
});

describe('a server', () => {
  it('lets a request work and an answer without an end be silent for hours', async () => {
    await listen((_request, response) => {
      response.writeHead(200);
      response.flushHeaders();
      response.write('one');
    });
    const { received } = open(`${HEAD}\r\n`);
    await waitFor(() => received().includes('one'));
    await clock.advance(7_200_000);
    expect(cuts).toEqual([]);
  });

  it('does not blame a client for a body that it does not read itself', async () => {
    await listen((request) => request.pause());
    open(`${HEAD}content-length: 10\r\n\r\n12345`);
    const request = await nextRequest();
    await waitFor(() => request.readableLength > 0);
    await clock.advance(600_000);
    expect(cuts).toEqual([]);
  });

  it('does not blame its clients when it stood still', async () => {
    await listen(reads);
    open(`${HEAD}content-length: 10\r\n\r\n12345`);
    await nextRequest();
    await clock.standStill(60_000);
    expect(cuts).toEqual([]);
    await clock.advance(35_000);
    expect(cuts).toHaveLength(1);
  });

  it('keeps no timer once it is closed', async () => {
    await listen(reads);
    server.close();
    await once(server, 'close');
    expect(clock.pending).toBe(0);
    await listen(reads);
  });
});

describe('a connection that asks without waiting for answers', () => {
  const ASK = 'GET /things?key=secret HTTP/1.1\r\nhost: test\r\n\r\n';

  it('gets 503 and its end, and reaches no handler with what it asked beyond that', async () => {
    let seen = 0;
    await listen(() => void seen++);
    const client = open(ASK.repeat(1_000));
    await once(client.socket, 'close');
    expect(client.received()).toMatch(
      /^HTTP\/1\.1 503 [^]*16 requests of this connection wait for their answers; send the next one after an answer/,
    );
    expect(seen).toBe(16);
    expect(cuts).toEqual([expect.objectContaining({ kind: 'unanswered', method: 'GET', path: '/things' })]);
  });

  it('may ask as often as it likes when it waits', async () => {
    await listen((_request, response) => void response.end('done'));
    const client = open('');
    for (let n = 1; n <= 40; n++) {
      client.socket.write(ASK);
      await waitFor(() => client.received().split('done').length > n);
    }
    expect(cuts).toEqual([]);
  });
});
