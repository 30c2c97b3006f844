import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { Admission } from '#lib/admission';
import { waitFor } from '#lib/testing';
import { countAnswers } from './count-answers.js';

const MIB = 1 << 20;
/** Size that exceeds the buffers of the kernel for a connection. */
const LARGE = 20 * MIB;

describe('answers that are not read', () => {
  let server: FastifyInstance;
  let budget: Admission;

  beforeEach(async () => {
    server = fastify();
    budget = new Admission({
      capacity: 3 * LARGE + MIB,
      halves: true,
      refusal: 'too much is read at once; try again',
    });
    countAnswers(server, { budget, ownerOf: ({ headers }) => String(headers['x-owner']) });
    server.get('/large', async () => ({ text: 'x'.repeat(LARGE) }));
    server.post('/large', async () => ({ text: 'x'.repeat(LARGE) }));
    server.get('/counted', { config: { countsAnswer: true } }, async () => ({ text: 'x'.repeat(LARGE) }));
    server.get('/small', async () => ({ text: 'x'.repeat(1000) }));
    await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(async () => {
    server.server.closeAllConnections();
    await server.close();
  });

  const open = async (path: string, owner = 'a', method = 'GET'): Promise<IncomingMessage> => {
    const { port } = server.server.address() as AddressInfo;
    const headers = { 'x-owner': owner };
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response;
  };
  const text = async (response: IncomingMessage): Promise<string> => {
    let read = '';
    for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>) read += piece;
    return read;
  };

  it('counts them for their owner, whose next read is refused with 429 until they are read', async () => {
    const unread = [await open('/large'), await open('/large')];
    expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect(budget.held).toBeGreaterThanOrEqual(2 * LARGE);
    const refused = await open('/large');
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
    expect(JSON.parse(await text(refused))).toEqual({ detail: 'too much is read at once; try again' });
    const [other, small] = [await open('/large', 'b'), await open('/small')];
    expect([other.statusCode, small.statusCode]).toEqual([200, 200]);
    for (const response of [...unread, other]) expect(await text(response)).toHaveLength(LARGE + 11);
    await waitFor(() => budget.held === 0);
    const again = await open('/large');
    expect(again.statusCode).toBe(200);
    again.destroy();
    await waitFor(() => budget.held === 0);
  });

  it('lets answers about changes through, and counts nothing where the route does it', async () => {
    const unread = [await open('/large'), await open('/large')];
    expect((await open('/large', 'a', 'POST')).statusCode).toBe(200);
    expect((await open('/counted')).statusCode).toBe(200);
    expect(budget.held).toBeLessThan(2 * LARGE + MIB);
    for (const response of unread) response.destroy();
  });
});
