import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '#lib/time';
import { MAX_WAITING } from './endpoint-choice.js';
import { ServiceWay } from './service-way.js';

/** A port of this machine that nothing listens on. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('ServiceWay', () => {
  it('has as many requests wait for one port as may, and refuses the next at once', async () => {
    const way = new ServiceWay(systemClock);
    const to = { name: 'team/agent', host: '127.0.0.1', port: await closedPort() };
    let arrived = 0;
    let answered = 0;
    const { promise: crowd, resolve: isCrowd } = Promise.withResolvers<void>();
    const server = createServer((incoming, response) => {
      way.request(incoming, response, to);
      if (++arrived === MAX_WAITING) isCrowd();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const agent = new Agent({ maxSockets: MAX_WAITING + 1 });
    const ask = () => {
      const { port } = server.address() as AddressInfo;
      const request = get({ host: '127.0.0.1', port, agent });
      request.on('error', () => undefined).on('response', () => answered++);
      return request;
    };
    const waiting = Array.from({ length: MAX_WAITING }, ask);
    await crowd;
    await systemClock.sleep(200);
    const [answer] = (await once(ask(), 'response')) as [{ statusCode: number; resume(): void }];
    answer.resume();
    expect(answer.statusCode).toBe(503);
    expect(answered).toBe(1);
    for (const request of waiting) request.destroy();
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
});
