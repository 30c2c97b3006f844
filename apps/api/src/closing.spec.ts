import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { prepareKube, prepareStore, runApi } from './testdata/running-api.js';

describe('an api that closes', () => {
  const postgres = testPostgres();

  it('ends connections that never carried a request', async () => {
    const [store, kube] = [
      await postgres.freshDatabase(prepareStore),
      await postgres.freshDatabase(prepareKube),
    ];
    const api = await runApi(store.uri, kube.uri);
    const { hostname, port } = new URL(api.url);
    // as browsers open one ahead
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    await fetch(`${api.url}/ok`);
    const closed = once(socket, 'close');
    await api.stop();
    await closed;
  });

  it('serves for the time of its drain, and ends each connection with an answer', async () => {
    const [store, kube] = [
      await postgres.freshDatabase(prepareStore),
      await postgres.freshDatabase(prepareKube),
    ];
    const api = await runApi(store.uri, kube.uri, { drainMs: 3_000, routeDomains: ['agents.test'] });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (host?: string): Promise<[number | undefined, string | undefined]> => {
      const request = get(`${api.url}/ok`, { agent, ...(host ? { headers: { host } } : {}) });
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      return [answer.statusCode, answer.headers.connection];
    };
    expect(await ask()).toEqual([200, 'keep-alive']);
    const stopped = api.stop();
    // on the connection of before, and on a new one
    expect(await ask()).toEqual([200, 'close']);
    expect(await ask()).toEqual([200, 'close']);
    expect(await ask('none.agents.test')).toEqual([404, 'close']);
    await stopped;
    await expect(ask()).rejects.toThrow('ECONNREFUSED');
    agent.destroy();
  });
});
