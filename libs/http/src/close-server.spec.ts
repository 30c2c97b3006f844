import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { systemClock } from '#lib/time';
import { closeServer } from './close-server.js';
import { listenOn } from './listen-on.js';

describe('closeServer', () => {
  const agent = new Agent({ keepAlive: true });
  const waiting: ServerResponse[] = [];
  const server = createServer((_asked, answer) => void waiting.push(answer));
  afterEach(() => server.closeAllConnections());

  async function ask(port: number): Promise<IncomingMessage> {
    const asked = get({ host: '127.0.0.1', port, agent });
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    return answer;
  }
  const untilAsked = async (): Promise<ServerResponse> => {
    await once(server, 'request');
    const answer = waiting.pop();
    if (!answer) throw new Error('no request');
    return answer;
  };

  it('lets a request under way be answered, and ends its kept connection', async () => {
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    const [answer, asked] = [untilAsked(), ask(port)];
    const response = await answer;
    const closed = closeServer(server, { clock: systemClock, patienceMs: 60_000 });
    response.end('late');
    expect((await asked).statusCode).toBe(200);
    await closed;
    await expect(listenOn(server, { host: '127.0.0.1', port })).resolves.toBe(port);
    await closeServer(server, { clock: systemClock, patienceMs: 1_000 });
  });

  it('cuts what is still under way once its patience ends', async () => {
    const clock = new FakeClock();
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    const [answer, asked] = [untilAsked(), ask(port)];
    asked.catch(() => undefined);
    await answer;
    const closed = closeServer(server, { clock, patienceMs: 3_000 });
    await clock.advance(2_900);
    expect(server.address()).toBeNull();
    await clock.advance(200);
    await closed;
    await expect(asked).rejects.toThrow('socket hang up');
  });

  it('has nothing to do for a server that does not listen', async () => {
    await closeServer(createServer(), { clock: systemClock, patienceMs: 1 });
  });
});

describe('listenOn', () => {
  it('reports a port that is taken', async () => {
    const [first, second] = [createServer(), createServer()];
    const port = await listenOn(first, { host: '127.0.0.1', port: 0 });
    await expect(listenOn(second, { host: '127.0.0.1', port })).rejects.toThrow('EADDRINUSE');
    await closeServer(first, { clock: systemClock, patienceMs: 1_000 });
  });
});
