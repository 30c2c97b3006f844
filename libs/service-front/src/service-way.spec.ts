import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type LookupFunction } from 'node:net';
import { FakeClock, fastClock, quietFor, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { MAX_WAITING } from './endpoint-choice.js';
import { ServiceWay } from './service-way.js';

const HOST = '127.0.0.1';

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** A port of this machine that nothing listens on. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('ServiceWay, before a port that nothing listens on', () => {
  it('has as many requests wait for one port as may, and refuses the next at once', async () => {
    // it stands still: none of them has waited long enough, however slowly they come
    const way = new ServiceWay({ clock: new FakeClock() });
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
    await quietFor(200);
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

describe('ServiceWay, before a Service that is a name', () => {
  const agent = createServer((_asked, answer) => answer.end('the agent'));

  afterAll(() => agent.close());

  it('calls the addresses that its own lookup finds, and none that it refuses', async () => {
    await new Promise<void>((resolve) => agent.listen(0, HOST, resolve));
    const lookup: LookupFunction = (name, { all }, answer) => {
      if (name !== 'agent.test') return answer(new Error('refused'), []);
      if (all) return answer(null, [{ address: HOST, family: 4 }]);
      answer(null, HOST, 4);
    };
    const way = new ServiceWay({ clock: fastClock(20), lookup });
    const front = createServer((incoming, response) => {
      const host = incoming.headers.host ?? '';
      way.request(incoming, response, { name: host, host, port: portOf(agent) });
    });
    await new Promise<void>((resolve) => front.listen(0, HOST, resolve));
    const ask = async (host: string): Promise<number | undefined> => {
      const asked = get({ host: HOST, port: portOf(front), headers: { host }, agent: false });
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    expect([await ask('agent.test'), await ask('metadata.test')]).toEqual([200, 503]);
    front.close();
  });
});

describe('ServiceWay, before an agent that dies at its work', () => {
  const agent = createServer((asked) => asked.socket.destroy());
  const front = createServer((incoming, response) =>
    new ServiceWay({ clock: systemClock }).request(incoming, response, {
      name: 'agent',
      host: HOST,
      port: portOf(agent),
    }),
  );

  beforeAll(async () => {
    for (const server of [agent, front])
      await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  });
  afterAll(() => {
    for (const server of [front, agent]) server.close();
  });

  it.each([
    ['POST', '/a2a/agent', true],
    ['POST', '/team/a2a/agent', true],
    ['POST', '/mcp', true],
    ['POST', '/runs/wait', false],
    ['GET', '/a2a/agent', false],
  ])('answers %s %s in the words of its client', async (method, path, isRpc) => {
    const body = method === 'POST' ? { body: '{}' } : {};
    const answer = await fetch(`http://${HOST}:${portOf(front)}${path}`, { method, ...body });
    const detail = 'the pod of Service agent closed the connection before it answered';
    const rpc = { jsonrpc: '2.0', id: null, error: { code: -32603, message: detail } };
    expect([answer.status, await answer.json()]).toEqual([503, { detail, ...(isRpc ? rpc : {}) }]);
  });
});

describe('ServiceWay, before an agent that answers without end', () => {
  let open = 0;
  /** Answers without an end. */
  const agent = createServer((_asked, answer) => {
    open++;
    answer.once('close', () => open--);
    answer.writeHead(200);
    answer.write('a piece');
  });
  const front = createServer((incoming, response) =>
    new ServiceWay({ clock: systemClock }).request(incoming, response, {
      name: 'agent',
      host: HOST,
      port: portOf(agent),
    }),
  );

  beforeAll(async () => {
    for (const server of [agent, front])
      await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  });
  afterAll(() => {
    for (const server of [front, agent]) {
      server.closeAllConnections();
      server.close();
    }
  });

  it('ends all requests of a connection with it, those that wait for an earlier answer too', async () => {
    const client = connect({ host: HOST, port: portOf(front) });
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3));
    await waitFor(() => Promise.resolve(open === 3));
    client.destroy();
    await waitFor(() => Promise.resolve(open === 0), { timeoutMs: 5_000, what: 'the end of all requests' });
    expect(open).toBe(0);
  });
});
