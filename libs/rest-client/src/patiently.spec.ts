import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Clock, systemClock } from '#lib/time';
import { patiently } from './patiently.js';
import { RestClient } from './rest-client.js';

describe('patiently', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  /** A client whose pauses pass at once, and are noted. */
  async function ask(answers: RequestListener[], forMs = 60_000) {
    const server = createServer((request, response) => answers.shift()?.(request, response)).listen(
      0,
      '127.0.0.1',
    );
    servers.push(server);
    await once(server, 'listening');
    const pauses: number[] = [];
    let passed = 0;
    const sleep: Clock['sleep'] = (ms) => {
      pauses.push(ms);
      passed += ms;
      return Promise.resolve();
    };
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const clock = { ...systemClock, sleep, monotonicMs: () => passed };
    const rest = patiently(new RestClient({ url, authorization: 'Bearer of another' }), { forMs, clock });
    return { pauses, answer: rest.request('POST', '/runs', { a: 1 }) };
  }

  const status =
    (code: number, headers: Record<string, string> = {}): RequestListener =>
    (_request, response) =>
      void response.writeHead(code, headers).end('{"detail": "no"}');

  it('sends again after the pause that the server asks for', async () => {
    const { answer, pauses } = await ask([
      status(429, { 'retry-after': '7' }),
      status(503),
      (request) => request.socket.destroy(),
      (request, response) => void response.end(JSON.stringify(request.headers['authorization'])),
    ]);
    await expect(answer).resolves.toBe('Bearer of another');
    expect(pauses[0]).toBe(7_000);
    expect(pauses).toHaveLength(3);
  });

  it('gives up a refusal at once, and a busy server after its time', async () => {
    await expect((await ask([status(422)])).answer).rejects.toMatchObject({
      status: 422,
      answer: { detail: 'no' },
    });
    const always = Array.from({ length: 9 }, () => status(429, { 'retry-after': '3600' }));
    const { answer, pauses } = await ask(always, 100_000);
    await expect(answer).rejects.toMatchObject({ status: 429 });
    expect(pauses).toEqual([60_000, 60_000]);
  });
});
