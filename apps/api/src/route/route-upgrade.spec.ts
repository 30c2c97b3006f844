import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { listenOn } from '#lib/http';
import { FakeClock, waitFor } from '#lib/testing';
import { RouteHosts } from './route-hosts.js';

const LOOPBACK = '127.0.0.1';
const UPGRADE = 'connection: upgrade\r\nupgrade: other\r\n';
const FOR_THE_API = 'GET /mine HTTP/1.1\r\nhost: api\r\nx-api-key: of-another\r\nconnection: close\r\n\r\n';
const LARGE = 8 * 1024 * 1024;

function get(path: string, more = UPGRADE): string {
  return `GET ${path} HTTP/1.1\r\nhost: one.agents\r\n${more}\r\n`;
}

describe('a request to change the protocol, by a host of a route', () => {
  const seen: unknown[] = [];
  const sockets: string[] = [];
  const agent = createServer(
    { shouldUpgradeCallback: ({ url = '' }) => url.startsWith('/socket') },
    (asked, answer) => {
      const body: Buffer[] = [];
      asked.on('data', (piece: Buffer) => body.push(piece));
      asked.on('end', () => {
        seen.push([asked.url, asked.headers['x-api-key'], Buffer.concat(body).toString()]);
        if (asked.url === '/silent' || asked.url === '/held') return;
        if (asked.url === '/gone') return void asked.socket.destroy();
        if (asked.url === '/cut') return void answer.write('half', () => asked.socket.destroy());
        answer.end(asked.url === '/large' ? Buffer.alloc(LARGE, 'x') : 'answered');
      });
    },
  );
  agent.on('upgrade', (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.push(head.toString());
    socket.on('error', () => undefined).on('end', () => socket.end());
    const change = (): void => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: Upgrade\r\n\r\n');
      socket.on('data', (piece: Buffer) => {
        sockets.push(piece.toString());
        socket.write(piece);
      });
    };
    // long enough for what comes with the request to come
    if (asked.url === '/socket/late') setTimeout(change, 300);
    else change();
  });
  const clients = new Set<Socket>();
  const clock = new FakeClock();
  const hosts = new RouteHosts(clock);
  let ofApi = 0;
  const front = createServer(
    { shouldUpgradeCallback: (asked) => hosts.mayUpgrade(asked) },
    (asked, answer) => {
      if (hosts.take(asked, answer)) return;
      ofApi++;
      answer.end('the api');
    },
  );
  front.on('upgrade', (asked: IncomingMessage, client: Duplex, head: Buffer) =>
    hosts.upgrade(asked, client, head),
  );
  let port = 0;

  beforeAll(async () => {
    const address = `http://${LOOPBACK}:${await listenOn(agent, { host: LOOPBACK, port: 0 })}`;
    const deployment = { metadata: { name: 'one', namespace: 'a' } } as never;
    hosts.follow({
      find: (host) =>
        host === 'one.agents'
          ? { kind: 'deployment', deployment, address }
          : host === 'none.agents'
            ? { kind: 'none', host }
            : undefined,
    });
    port = await listenOn(front, { host: LOOPBACK, port: 0 });
  });
  afterEach(() => {
    seen.length = 0;
    sockets.length = 0;
    ofApi = 0;
  });
  afterAll(() => {
    for (const client of clients) client.destroy();
    for (const server of [front, agent]) {
      server.closeAllConnections();
      server.close();
    }
  });

  interface Talk {
    readonly text: () => string;
    readonly send: (text: string) => void;
    readonly closed: Promise<unknown>;
  }

  function talk(first: string): Talk {
    const socket = connect(port, LOOPBACK);
    clients.add(socket);
    let text = '';
    socket.on('error', () => undefined).on('data', (piece: Buffer) => (text += piece.toString()));
    socket.write(first);
    return {
      text: () => text,
      send: (more) => void socket.write(more),
      closed: once(socket, 'close'),
    };
  }

  it('ends its connection when the agent answers it as an ordinary one', async () => {
    const { text, send, closed } = talk(get('/first'));
    await waitFor(() => text().includes('answered'));
    send(FOR_THE_API);
    await closed;
    expect(seen).toEqual([['/first', undefined, '']]);
    expect(text().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    expect(text()).toMatch(/^connection: close\r$/im);
    expect(ofApi).toBe(0);
  });

  it('keeps what came with it from an agent that answers it as an ordinary one', async () => {
    const { text, closed } = talk(`${get('/first')}${FOR_THE_API}`);
    await closed;
    expect([seen, ofApi]).toEqual([[['/first', undefined, '']], 0]);
    expect(text().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  });

  it('hands over what came with it once the agent has changed the protocol', async () => {
    const { text, send } = talk(`${get('/socket/late')}ahead `);
    await waitFor(() => text().includes('ahead'));
    send('after');
    await waitFor(() => text().endsWith('ahead after'));
    // none of it came with the head
    expect(sockets[0]).toBe('');
    expect(sockets.join('')).toBe('ahead after');
    expect(text()).toMatch(/^HTTP\/1\.1 101 .*upgrade: other/is);
  });

  it('gets a body of any size from an agent that takes none', async () => {
    const { text, closed } = talk(get('/large'));
    await closed;
    expect(text().length).toBeGreaterThan(LARGE);
  });

  it('breaks off where the agent broke off', async () => {
    const { text, closed } = talk(get('/cut'));
    await closed;
    expect(text()).toContain('half');
    expect(text()).not.toMatch(/0\r\n\r\n$/);
    expect(text()).toMatch(/transfer-encoding: chunked/i);
  });

  it('gets 503 when the agent closes the connection', async () => {
    const { text, closed } = talk(get('/gone'));
    await closed;
    expect(text()).toMatch(/^HTTP\/1\.1 503 [^]*closed the connection/);
  });

  it('gets 504 when the agent gives no answer', async () => {
    const { text, closed } = talk(get('/silent'));
    await waitFor(() => seen.length === 1);
    await clock.advance(60_000);
    await closed;
    expect(text()).toMatch(/^HTTP\/1\.1 504 [^]*"detail":/);
  });

  it.each(['one.agents', 'none.agents'])(
    'ends a connection that waits for an answer before it, to %s',
    async (host) => {
      const later = get('/first').replace('one.agents', host);
      const { text, closed } = talk(`${get('/held', '')}${later}`);
      await closed;
      expect(text()).toBe('');
      expect(seen).not.toContainEqual(['/first', undefined, '']);
    },
  );

  it.each([
    ['a body', 'POST', `${UPGRADE}content-length: 5\r\n`],
    ['a body in chunks', 'GET', `${UPGRADE}transfer-encoding: chunked\r\n`],
    [
      'an offer of HTTP/2',
      'POST',
      'connection: upgrade, http2-settings\r\nupgrade: h2c\r\ncontent-length: 5\r\n',
    ],
  ])('reaches the agent as an ordinary request with %s', async (_what, method, more) => {
    const body = more.includes('chunked') ? '5\r\nhello\r\n0\r\n\r\n' : 'hello';
    const head = get('/socket', more).replace('GET', method);
    const { text, send } = talk(head);
    send(body);
    await waitFor(() => text().includes('answered'));
    expect(seen).toEqual([['/socket', undefined, 'hello']]);
    send(FOR_THE_API);
    await waitFor(() => text().includes('the api'));
    expect(text().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  });
});
