import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { ConnectionRoom, SERVER_LIMITS } from '#lib/http';
import { IDLE_HEADER } from '#lib/lifecycle';
import type { Pod, Service } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, fastClock, sendRaw, sendUnread, waitFor } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { type Endpoint, ServiceListener } from '#lib/service-front';
import { findEndpoints } from './service-proxy.js';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function pod(
  name: string,
  handle?: Parameters<typeof createServer>[1],
): Promise<Endpoint & { server: Server }> {
  const server = createServer(
    handle ??
      ((incoming: IncomingMessage, response) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () =>
          response.end(`${name} ${incoming.method} ${incoming.url} ${Buffer.concat(chunks).toString()}`),
        );
      }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  return { pod: name, port: (server.address() as AddressInfo).port, server };
}

function roomFor(most = 4_000, clock: Clock = systemClock): ConnectionRoom {
  return new ConnectionRoom({ clock, most, onFull: () => undefined });
}

async function proxy(
  endpoints: () => readonly Endpoint[],
  name = 'http',
  limits = SERVER_LIMITS,
  room = roomFor(),
  clock = systemClock,
): Promise<number> {
  const listener = new ServiceListener({
    serviceName: 'ws/a',
    port: { name },
    endpoints,
    room,
    clock,
    log: createLogger('test', 'silent'),
    limits,
  });
  stops.push(() => listener.stop(true));
  return listener.listen(0);
}

/** Has no pod, and does not wait long for one. */
function impatientProxy(): Promise<number> {
  return proxy(() => [], 'http', SERVER_LIMITS, roomFor(), fastClock(20));
}

function ask(
  port: number,
  options: { agent?: Agent; method?: string; body?: string } = {},
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: '/x?y=1',
        method: options.method ?? 'GET',
        ...(options.agent ? { agent: options.agent } : {}),
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
        answer.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(options.body);
  });
}

interface Kept {
  readonly socket: Socket;
  readonly received: () => string;
}

describe('ServiceListener', () => {
  it.each([
    ['a request line that is none', 'NONSENSE\r\n\r\n', 400],
    ['headers of 20 kB', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['no pod', 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 503],
  ])('refuses %s by itself with a detail', async (_, text, status) => {
    const answer = await sendRaw(await impatientProxy(), text);
    expect(answer).toMatchObject({
      status,
      headers: { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
    });
    expect(Object.keys(JSON.parse(answer.body) as object)).toEqual(['detail']);
  });

  it('keeps the question of a listener back, which asks pods at their own addresses', async () => {
    const heard: (string | string[] | undefined)[] = [];
    const one = await pod('one', ({ headers }, response) => {
      heard.push(headers[IDLE_HEADER], headers['x-other']);
      response.end();
    });
    const port = await proxy(() => [one]);
    await fetch(`http://127.0.0.1:${port}/ok?idle=close`, {
      headers: { [IDLE_HEADER]: 't', 'x-other': 'o' },
    });
    expect(heard).toEqual([undefined, 'o']);
  });

  it.each([
    ['a=1; agentplane_page=s; b=2', 'a=1; b=2'],
    ['agentplane_page=s; b="x;  y" ;', 'b="x;  y" ;'],
    [' agentplane_page = s;agentplane_page=t', undefined],
    ['a=1;b=2;  not_agentplane_page=3;', 'a=1;b=2;  not_agentplane_page=3;'],
    ['AGENTPLANE_PAGE=s; agentplane_pages=t', 'AGENTPLANE_PAGE=s; agentplane_pages=t'],
  ])('keeps the cookie of pages back, and passes others on as they came: %s', async (sent, heard) => {
    const given: (string | undefined)[] = [];
    const one = await pod('one', ({ headers }, response) => {
      given.push(headers.cookie);
      response.end();
    });
    one.server.on('upgrade', ({ headers }: IncomingMessage, socket: Socket) => {
      given.push(headers.cookie);
      socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    });
    const port = await proxy(() => [one]);
    const head = `GET /o HTTP/1.1\r\nhost: a\r\ncookie: ${sent}\r\n`;
    await sendRaw(port, `${head}connection: close\r\n\r\n`);
    await sendRaw(port, `${head}connection: upgrade\r\nupgrade: websocket\r\n\r\n`);
    expect(given).toEqual([heard, heard]);
  });

  it('passes on no cookie of an agent that would take the place of the cookie of pages', async () => {
    const own = ['a=1; Path=/', 'agentplane_pages=2', 'Agentplane_Page=3'];
    const others = [
      'agentplane_page=x; Path=/o',
      ' agentplane_page = ; Max-Age=0',
      '=agentplane_page=y',
      'agentplane_page',
    ];
    const one = await pod('one', (_, response) => {
      response.setHeader('Set-Cookie', [...others, ...own]);
      response.end();
    });
    one.server.on('upgrade', (_asked: IncomingMessage, socket: Socket) => {
      const lines = [...others, ...own].map((cookie) => `set-cookie: ${cookie}\r\n`).join('');
      socket.end(`HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n${lines}\r\n`);
    });
    const port = await proxy(() => [one]);
    expect((await fetch(`http://127.0.0.1:${port}/`)).headers.getSetCookie()).toEqual(own);
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1.1 101 /);
    expect([...text.matchAll(/^set-cookie: (.*)\r$/gim)].map(([, cookie]) => cookie)).toEqual(own);
  });

  it('forwards method, path and body', async () => {
    const one = await pod('one');
    const port = await proxy(() => [one]);
    expect(await ask(port, { method: 'POST', body: 'hello' })).toEqual({
      status: 200,
      text: 'one POST /x?y=1 hello',
    });
  });

  it.each(['http', 'db'])('cuts what its namespace has no room for, at a port named %s', async (name) => {
    const one = await pod('one', (incoming, response) => {
      if (incoming.url === '/stream') response.write('begun');
      else response.end('done');
    });
    const room = roomFor(1);
    const port = await proxy(() => [one], name, SERVER_LIMITS, room);
    const holding = connect({ port, host: '127.0.0.1' });
    holding.write('GET /stream HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(holding, 'data');
    await expect(ask(port)).rejects.toThrow(/socket hang up|ECONNRESET/);
    holding.destroy();
    await waitFor(async () => (await ask(port)).status === 200);
  });

  it('serves a new connection while others that ask for nothing take all there is room for', async () => {
    const one = await pod('one');
    const port = await proxy(() => [one], 'http', SERVER_LIMITS, roomFor(3));
    const mute = Array.from({ length: 3 }, () => connect({ port, host: '127.0.0.1' }));
    for (const socket of mute) {
      socket.on('error', () => undefined);
      stops.push(async () => void socket.destroy());
      await once(socket, 'connect');
    }
    expect((await ask(port)).status).toBe(200);
  });

  it('cuts a kept connection for a new one where there is no room, not a stream that waits', async () => {
    const streams: ServerResponse[] = [];
    const one = await pod('one', (incoming, response) => {
      if (incoming.url !== '/stream') return void response.end('done');
      response.write('begun');
      streams.push(response);
    });
    const clock = new FakeClock();
    const port = await proxy(() => [one], 'http', SERVER_LIMITS, roomFor(2, clock));
    const [stream, kept] = ['/stream', '/'].map((path) => {
      const socket = connect({ port, host: '127.0.0.1' }).setEncoding('utf8');
      stops.push(async () => void socket.destroy());
      socket.on('error', () => undefined);
      let text = '';
      socket.on('data', (part: string) => (text += part));
      socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
      return { socket, received: () => text };
    }) as [Kept, Kept];
    await waitFor(() => stream.received().includes('begun') && kept.received().includes('done'));
    await expect(ask(port)).rejects.toThrow(/socket hang up|ECONNRESET/);
    await clock.advance(10_000);
    expect((await ask(port)).status).toBe(200);
    await waitFor(() => kept.socket.destroyed);
    streams[0]?.end('more');
    await waitFor(() => stream.received().includes('more'));
  });

  it('picks ready pods in turn', async () => {
    const both = [await pod('one'), await pod('two')];
    const port = await proxy(() => both);
    const said = [await ask(port), await ask(port), await ask(port)].map(({ text }) => text.slice(0, 3));
    expect(said).toEqual(['one', 'two', 'one']);
  });

  it('moves a kept connection to the new pods at once', async () => {
    const [one, two] = [await pod('one'), await pod('two')];
    let current: Endpoint[] = [one];
    const port = await proxy(() => current);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask(port, { agent })).text).toMatch(/^one/);
    current = [two];
    expect((await ask(port, { agent })).text).toMatch(/^two/);
    agent.destroy();
  });

  it('lets a request that began on the old pod finish', async () => {
    const begun = Promise.withResolvers<() => void>();
    const slow = await pod('slow', (_incoming, response) => {
      response.write('begun ');
      begun.resolve(() => response.end('finished'));
    });
    const two = await pod('two');
    let current: Endpoint[] = [slow];
    const port = await proxy(() => current);
    const answer = ask(port);
    const finish = await begun.promise;
    current = [two];
    expect((await ask(port)).text).toMatch(/^two/);
    finish();
    expect((await answer).text).toBe('begun finished');
  });

  it('tries the next pod when one does not answer', async () => {
    const one = await pod('one');
    const dead = await pod('dead');
    await new Promise((resolve) => dead.server.close(resolve));
    const port = await proxy(() => [dead, one]);
    expect((await ask(port, { method: 'POST', body: 'once' })).text).toBe('one POST /x?y=1 once');
  });

  it('waits a moment for a pod that is about to be ready', async () => {
    const one = await pod('one');
    let looks = 0;
    const port = await proxy(() => (looks++ === 0 ? [] : [one]));
    expect((await ask(port)).status).toBe(200);
  });

  it('ends a connection with 503 that asks for more than 16 answers at a time', async () => {
    const answer = await sendRaw(await proxy(() => []), 'GET / HTTP/1.1\r\n\r\n'.repeat(17));
    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining('16 requests') });
  });

  it('looks for a pod for no more than 16 of the requests that one connection sends at once', async () => {
    let looks = 0;
    const port = await proxy(() => {
      looks++;
      return [];
    });
    await sendRaw(port, 'GET / HTTP/1.1\r\n\r\n'.repeat(30_000));
    expect(looks).toBeLessThanOrEqual(20);
  });

  it('serves any number of requests of a kept connection one after another', async () => {
    const one = await pod('one');
    const port = await proxy(() => [one]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; n < 40; n++) expect((await ask(port, { agent })).status).toBe(200);
    agent.destroy();
  });

  it('streams events as they come', async () => {
    const events = await pod('events', (_incoming, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
    });
    const port = await proxy(() => [events]);
    const first = await new Promise<string>((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port }, (answer) =>
        answer.setEncoding('utf8').once('data', (chunk: string) => {
          resolve(chunk);
          outgoing.destroy();
        }),
      );
      outgoing.on('error', reject);
      outgoing.end();
    });
    expect(first).toBe('data: 1\n\n');
  });

  it.each([
    ['a status that is none', 'HTTP/1.1 000 OK\r\ncontent-length: 0'],
    ['a status below 100', 'HTTP/1.1 099 OK\r\ncontent-length: 0'],
    ['a switch of protocols without a request for it', 'HTTP/1.1 101 OK\r\ncontent-length: 0'],
    ['a reason with control characters', 'HTTP/1.1 200 O\u0001K\r\ncontent-length: 0'],
    ['trailers without chunks', 'HTTP/1.1 200 OK\r\ntrailer: x\r\ncontent-length: 0'],
  ])('goes on when the pod answers with %s', async (_what, head) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(`${head}\r\n\r\n`));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stops.push(() => new Promise((resolve) => server.close(resolve)));
    const bad = { pod: 'bad', port: (server.address() as AddressInfo).port };
    const port = await proxy(() => [bad]);
    expect((await ask(port)).status).toBe(head.includes(' 200 ') ? 200 : 503);
    expect((await ask(port)).status).toBeGreaterThan(0);
  });

  it('answers an upgrade that no pod takes with the reason, and when to try again', async () => {
    const head = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket';
    const { status, headers, body } = await sendRaw(await impatientProxy(), `${head}\r\n\r\n`);
    expect([status, headers['retry-after'], headers['content-type'], JSON.parse(body)]).toEqual([
      503,
      '1',
      'application/json; charset=utf-8',
      { detail: 'Service ws/a has no ready pod; retry in a moment' },
    ]);
  });

  it('answers 502 when the pod changes the protocol without being asked to', async () => {
    const switching = await pod('switching', (incoming) =>
      incoming.socket.end(
        'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n',
      ),
    );
    const { status, text } = await ask(await proxy(() => [switching]));
    expect([status, JSON.parse(text)]).toEqual([502, { detail: expect.stringContaining('protocol') }]);
  });

  it('goes on when a client announces trailers without chunks', async () => {
    const a = await pod('a');
    const port = await proxy(() => [a]);
    const head = 'POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntrailer: x\r\ncontent-length: 0';
    expect((await sendRaw(port, `${head}\r\n\r\n`)).status).toBe(200);
    expect((await ask(port)).status).toBe(200);
  });

  it('answers a JSON error when the pod closes the connection', async () => {
    const rude = await pod('rude', (incoming) => incoming.socket.destroy());
    const port = await proxy(() => [rude]);
    const { status, text } = await ask(port);
    expect([status, JSON.parse(text)]).toEqual([
      503,
      { detail: expect.stringContaining('closed the connection') },
    ]);
  });

  it('ends a request to which the pod sends thousands of interim answers', async () => {
    const busy = await pod('busy', ({ socket }, response) => {
      socket.write('HTTP/1.1 103 \r\n\r\n'.repeat(5_000));
      response.end('late');
    });
    expect((await ask(await proxy(() => [busy]))).status).toBe(503);
  });

  it('opens no connection to a pod for a client that left while waiting', async () => {
    const open = new Set<Socket>();
    let asked = 0;
    const server = createTcpServer((socket) => {
      asked++;
      open.add(socket);
      socket.resume().on('error', () => undefined);
      socket.once('close', () => open.delete(socket));
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    stops.push(() => {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => void server.close(resolve));
    });
    const endpoint = { pod: 'one', port: (server.address() as AddressInfo).port };
    let waiting: Socket | undefined;
    const port = await proxy(() => {
      if (!waiting) return [endpoint];
      waiting.destroy();
      waiting = undefined;
      return [];
    });
    waiting = connect(port, '127.0.0.1');
    waiting.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => waiting === undefined);
    // a later client is served, and alone
    const later = connect(port, '127.0.0.1');
    later.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => asked > 0);
    later.destroy();
    await waitFor(() => open.size === 0);
  });

  it('forwards bytes for ports that are not http', async () => {
    const echo = createTcpServer((socket) => socket.pipe(socket));
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    stops.push(() => new Promise((resolve) => echo.close(resolve)));
    const target = { pod: 'echo', port: (echo.address() as AddressInfo).port };
    const port = await proxy(() => [target], 'redis');
    const said = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port }, () => socket.write('PING'));
      socket.once('data', (chunk) => {
        resolve(chunk.toString());
        socket.destroy();
      });
      socket.once('error', reject);
    });
    expect(said).toBe('PING');
  });
});

describe('findEndpoints', () => {
  const service = {
    metadata: { name: 'a', namespace: 'ws' },
    spec: { selector: { app: 'a' } },
  } as unknown as Service;
  const port = { name: 'http', port: 80, targetPort: 'http' };
  const serving = new Map<string | undefined, Readonly<Record<string, number>>>([
    ['ready', { '8000': 4000 }],
    ['portless', { '9': 1 }],
  ]);
  const node = { servingPortsOf: ({ metadata }: Pod) => serving.get(metadata.uid) };
  function aPod(changes: {
    uid?: string;
    labels?: object;
    deleting?: boolean;
    namespace?: string;
    ports?: string;
  }): Pod {
    return {
      metadata: {
        name: 'p',
        uid: changes.uid ?? 'ready',
        namespace: changes.namespace ?? 'ws',
        labels: changes.labels ?? { app: 'a' },
        annotations: { 'agentplane.dev/loopback-ports': changes.ports ?? '{"8000":4000}' },
        ...(changes.deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
      },
      spec: { containers: [{ name: 'c', ports: [{ name: 'http', containerPort: 8000 }] }] },
      // the API server has not heard of it yet
      status: { conditions: [{ type: 'Ready', status: 'False' }] },
    } as unknown as Pod;
  }

  it.each([
    ['a ready pod', aPod({}), [4000]],
    ['a pod of another app', aPod({ labels: { app: 'b' } }), []],
    ['a pod that the node does not know as ready', aPod({ uid: 'other' }), []],
    ['a pod that is going', aPod({ deleting: true }), []],
    ['a pod of another namespace', aPod({ namespace: 'other' }), []],
    ['a pod without that port', aPod({ uid: 'portless' }), []],
    ['a pod whose note names another port than the node', aPod({ ports: '{"8000":5432}' }), [4000]],
  ])('finds the endpoints of %s', (_name, one, ports) => {
    expect(findEndpoints(service, port, [one], node).map((endpoint) => endpoint.port)).toEqual(ports);
  });

  it('finds no endpoints of a Service without a selector', () =>
    expect(findEndpoints({ ...service, spec: {} }, port, [aPod({})], node)).toEqual([]));
});

describe('a slow client of a Service', () => {
  const limits = { ...SERVER_LIMITS, headersMs: 200, bodyIdleMs: 400, answerStallMs: 400, checkMs: 50 };
  const HEAD = 'POST /x HTTP/1.1\r\nhost: x\r\n';

  it.each([
    ['headers', HEAD],
    ['a body', `${HEAD}content-length: 100\r\n\r\nhalf`],
  ])('gets 408 and loses its connection when it stops in the middle of %s', async (_title, text) => {
    const one = await pod('one');
    expect((await sendRaw(await proxy(() => [one], 'http', limits), text)).status).toBe(408);
  });

  it('loses its connection when it does not read, and the pod learns of it after sending no more than sockets hold', async () => {
    let sent = 0;
    let isOver = false;
    const one = await pod('one', (_incoming, response) => {
      const part = Buffer.alloc(64 * 1024);
      const more = (): void => {
        while (!isOver && response.write(part)) sent += part.length;
      };
      response.on('drain', more);
      response.on('close', () => (isOver = true));
      more();
    });
    await sendUnread(await proxy(() => [one], 'http', limits), `${HEAD}\r\n`);
    await waitFor(() => isOver);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it('gets an answer that is silent for longer than any limit', async () => {
    const one = await pod('one', (_incoming, response) => {
      response.write('first ');
      // twice as long as the longest
      systemClock.after(2 * limits.bodyIdleMs, () => response.end('last'));
    });
    expect((await ask(await proxy(() => [one], 'http', limits))).text).toBe('first last');
  });
});
