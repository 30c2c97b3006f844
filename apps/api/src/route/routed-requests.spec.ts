import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import type { RouteTarget } from './agent-routes.js';
import { RouteHosts } from './route-hosts.js';

const LOOPBACK = '127.0.0.1';

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

describe('limit of requests to deployments', () => {
  const agent = createServer((_asked, answer) => {
    answer.writeHead(200);
    // without an end
    answer.write('a piece');
  });
  const hosts = new RouteHosts(systemClock, undefined, { capacity: 3, perOwner: 2 });
  const front = createServer((asked, answer) => {
    if (!hosts.take(asked, answer)) answer.end('the api');
  });
  /** `NAMESPACE.agents` leads to a deployment there. */
  const find = (host = ''): RouteTarget | undefined => {
    const [namespace = '', domain] = host.split('.');
    if (domain !== 'agents') return undefined;
    const address = `http://${LOOPBACK}:${portOf(agent)}`;
    const spec = { source: 'internal_image', sourceConfig: {}, sourceRevisionConfig: {} };
    return {
      kind: 'deployment',
      address,
      deployment: { metadata: { name: 'one', namespace }, spec } as never,
    };
  };

  beforeAll(async () => {
    hosts.follow({ find });
    for (const server of [agent, front])
      await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  });
  afterAll(() => {
    for (const server of [front, agent]) {
      server.closeAllConnections();
      server.close();
    }
  });

  const ask = (host: string): Promise<{ readonly status: number; readonly end: () => void }> =>
    new Promise((resolve, reject) => {
      const asked = request({ host: LOOPBACK, port: portOf(front), headers: { host }, agent: false });
      asked.on('error', reject).on('response', (answer) => {
        answer.on('error', () => undefined);
        resolve({ status: answer.statusCode ?? 0, end: () => asked.destroy() });
      });
      asked.end();
    });
  const ends = async (host: string): Promise<number> => {
    const { status, end } = await ask(host);
    end();
    return status;
  };

  it('lets no namespace have all of it, and keeps the rest for the api', async () => {
    const held = [await ask('a.agents'), await ask('a.agents')];
    expect(held.map(({ status }) => status)).toEqual([200, 200]);
    expect(await ends('a.agents')).toBe(503);
    held.push(await ask('b.agents'));
    expect(await ends('c.agents')).toBe(503);
    expect(await ends('api')).toBe(200);
    for (const { end } of held) end();
    await waitFor(async () => (await ends('a.agents')) === 200);
  });

  it('has the places of requests back that waited for an earlier answer when their connection ended', async () => {
    for (let times = 0; times < 5; times++) {
      const client = connect({ host: LOOPBACK, port: portOf(front) });
      client.write('GET / HTTP/1.1\r\nHost: a.agents\r\n\r\n'.repeat(2));
      await new Promise((resolve) => client.once('data', resolve));
      client.destroy();
    }
    await waitFor(async () => (await ends('a.agents')) === 200, { timeoutMs: 5_000 });
  });
});
