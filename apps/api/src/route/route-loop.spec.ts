import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listenOn } from '#lib/http';
import { systemClock } from '#lib/time';
import { RouteHosts } from './route-hosts.js';

const LOOPBACK = '127.0.0.1';

describe('routes by host whose Service leads back to the api', () => {
  const hosts = new RouteHosts(systemClock);
  let asked = 0;
  const front = createServer((incoming, answer) => {
    asked++;
    hosts.take(incoming, answer);
  });
  let port = 0;

  beforeAll(async () => {
    port = await listenOn(front, { host: LOOPBACK, port: 0 });
    const deployment = { metadata: { name: 'one', namespace: 'a' } } as never;
    hosts.follow({
      find: () => ({ kind: 'deployment', deployment, address: `http://${LOOPBACK}:${port}` }),
    });
  });
  afterAll(() => {
    front.closeAllConnections();
    front.close();
  });

  it('ends a request after five turns', async () => {
    const [answer] = (await once(get({ host: LOOPBACK, port, agent: false }), 'response')) as [
      IncomingMessage,
    ];
    answer.resume();
    expect([answer.statusCode, asked]).toEqual([508, 6]);
  });
});
