import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { listenOn } from '#lib/http';
import { sendRaw, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { type Destination, FrontDoor } from './front-door.js';

const LOOPBACK = '127.0.0.1';
const UPGRADE = 'host: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n';

describe('a request to change the protocol, at the address of an agent under development', () => {
  const seen: unknown[] = [];
  const agent = createServer({ shouldUpgradeCallback: ({ url }) => url === '/socket' }, (asked, answer) => {
    seen.push([asked.url, asked.headers['x-api-key']]);
    answer.end('answered');
  });
  agent.on('upgrade', (_asked: IncomingMessage, socket: Duplex, head: Buffer) => {
    seen.push(head.toString());
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n');
    socket.pipe(socket);
  });
  let destination: Destination = { kind: 'none', body: { detail: 'The agent is being loaded' } };
  const door = new FrontDoor({
    host: LOOPBACK,
    key: undefined,
    origins: () => [],
    onAnswer: () => undefined,
    destination: () => Promise.resolve(destination),
    clock: systemClock,
  });
  let port = 0;

  beforeAll(async () => {
    destination = { kind: 'server', port: await listenOn(agent, { host: LOOPBACK, port: 0 }) };
    port = await door.listen(0);
  });
  afterEach(() => {
    seen.length = 0;
  });
  afterAll(async () => {
    await door.stop();
    agent.closeAllConnections();
    agent.close();
  });

  it('ends its connection when the agent answers it as an ordinary one', async () => {
    const own = 'GET /second HTTP/1.1\r\nhost: localhost\r\nx-api-key: mine\r\nconnection: close\r\n\r\n';
    const { status, headers } = await sendRaw(port, `GET /first HTTP/1.1\r\n${UPGRADE}\r\n${own}`);
    expect([status, headers.connection, seen]).toEqual([200, 'close', [['/first', undefined]]]);
  });

  it('joins the connections once the agent has changed the protocol', async () => {
    const socket = connect(port, LOOPBACK);
    let text = '';
    socket.on('data', (piece: Buffer) => (text += piece.toString()));
    socket.write(`GET /socket HTTP/1.1\r\n${UPGRADE}\r\nahead `);
    await waitFor(() => text.includes('ahead'));
    socket.write('after');
    await waitFor(() => text.endsWith('ahead after'));
    expect(text).toMatch(/^HTTP\/1\.1 101 /);
    expect(seen).toEqual(['']);
    const closed = once(socket, 'close');
    socket.destroy();
    await closed;
  });

  it('gets a refusal with a detail for another host than this machine, and while there is no agent', async () => {
    const refused = await sendRaw(
      port,
      `GET /socket HTTP/1.1\r\n${UPGRADE.replace('localhost', 'evil')}\r\n`,
    );
    const before = destination;
    destination = { kind: 'none', body: { detail: 'The agent is being loaded' } };
    const early = await sendRaw(port, `GET /socket HTTP/1.1\r\n${UPGRADE}\r\n`);
    destination = before;
    expect([refused.status, early.status, JSON.parse(early.body)]).toEqual([
      403,
      503,
      { detail: 'The agent is being loaded' },
    ]);
    expect(JSON.parse(refused.body)).toEqual({ detail: expect.stringContaining('localhost') });
    expect(seen).toEqual([]);
  });
});
