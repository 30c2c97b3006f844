import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listenOn } from '#lib/http';
import { systemClock } from '#lib/time';
import type { RouteTarget } from './agent-routes.js';
import { RouteHosts } from './route-hosts.js';

const LOOPBACK = '127.0.0.1';

describe('routes by host while the api drains', () => {
  const held: ServerResponse[] = [];
  const agent = createServer((asked, answer) => {
    if (asked.url === '/held') held.push(answer);
    else answer.end('answered');
  });
  agent.on('upgrade', (_asked, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n');
    socket.on('error', () => undefined);
  });
  const hosts = new RouteHosts(systemClock);
  const front = createServer(
    { shouldUpgradeCallback: (asked) => hosts.mayUpgrade(asked) },
    (asked, answer) => {
      if (!hosts.take(asked, answer)) answer.end('the api');
    },
  );
  front.on('upgrade', (asked: IncomingMessage, client: Duplex, head: Buffer) =>
    hosts.upgrade(asked, client, head),
  );
  const connections = new Agent({ keepAlive: true });
  let port = 0;

  beforeAll(async () => {
    const address = `http://${LOOPBACK}:${await listenOn(agent, { host: LOOPBACK, port: 0 })}`;
    const deployment = { metadata: { name: 'one', namespace: 'a' } } as never;
    const target: RouteTarget = { kind: 'deployment', deployment, address };
    hosts.follow({
      find: (host) =>
        host === 'one.agents' ? target : host === 'none.agents' ? { kind: 'none', host } : undefined,
    });
    port = await listenOn(front, { host: LOOPBACK, port: 0 });
  });
  afterAll(() => {
    connections.destroy();
    for (const server of [front, agent]) {
      server.closeAllConnections();
      server.close();
    }
  });

  const ask = async (host: string, path = '/'): Promise<string> => {
    const asked = get({ host: LOOPBACK, port, path, headers: { host }, agent: connections });
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    return `${answer.statusCode} ${answer.headers.connection}`;
  };

  it('ends each connection with its answer, those under way included, and changed protocols when it closes', async () => {
    expect([await ask('one.agents'), await ask('none.agents')]).toEqual(['200 keep-alive', '404 keep-alive']);
    const underWay = ask('one.agents', '/held');
    await once(agent, 'request');
    const upgrading = request({
      host: LOOPBACK,
      port,
      headers: { host: 'one.agents', connection: 'upgrade', upgrade: 'echo' },
    });
    upgrading.end();
    const [, socket] = (await once(upgrading, 'upgrade')) as [IncomingMessage, Duplex];

    hosts.beginDrain();
    expect([await ask('one.agents'), await ask('none.agents')]).toEqual(['200 close', '404 close']);
    held.pop()?.end('late');
    expect(await underWay).toBe('200 close');
    expect(socket.destroyed).toBe(false);
    hosts.endUpgraded();
    await once(socket, 'close');
  });
});
