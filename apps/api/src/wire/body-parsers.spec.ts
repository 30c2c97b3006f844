import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { Admission } from '#lib/admission';
import { waitFor } from '#lib/testing';
import { registerBodyParsers } from './body-parsers.js';
import { answerOf } from './error-answer.js';

const KIB = 1 << 10;

describe('a JSON body', () => {
  let server: FastifyInstance;
  let budget: Admission;

  beforeEach(async () => {
    server = fastify();
    budget = new Admission({
      capacity: 1000 * KIB,
      halves: true,
      refusal: 'too many bodies arrive at once; try again',
    });
    registerBodyParsers(server, {
      maxRawBytes: KIB,
      budget,
      ownerOf: ({ headers }) => String(headers['x-owner']),
    });
    server.setErrorHandler((error, _request, reply) => {
      const { status, body, retryAfter } = answerOf(error);
      void reply.code(status).headers(retryAfter === undefined ? {} : { 'retry-after': retryAfter });
      void reply.send(body);
    });
    server.post('/', async ({ body }) => ({ members: Object.keys(body as object).length }));
    await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(async () => {
    server.server.closeAllConnections();
    await server.close();
  });

  const open = (owner = 'a'): ClientRequest => {
    const { port } = server.server.address() as AddressInfo;
    const headers = { 'x-owner': owner, 'content-type': 'application/json' };
    return request({ host: '127.0.0.1', port, method: 'POST', path: '/', headers, agent: false });
  };
  const answer = async (sent: ClientRequest): Promise<readonly unknown[]> => {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>) text += piece;
    return [response.statusCode, JSON.parse(text), response.headers['retry-after']];
  };
  const send = (body: string, owner?: string): Promise<readonly unknown[]> => {
    const sent = open(owner);
    const answered = answer(sent);
    sent.end(body);
    return answered;
  };
  const large = `{"text":"${'x'.repeat(300 * KIB)}"}`;

  it('counts for its owner while it arrives, and the next is refused with 429 when no room is left', async () => {
    const held = open();
    const answered = answer(held);
    held.write(large.slice(0, -2));
    await waitFor(() => budget.held >= 300 * KIB);
    const second = open();
    const secondAnswered = answer(second);
    second.write(`{"text":"${'x'.repeat(100 * KIB)}`);
    await waitFor(() => budget.held >= 400 * KIB);
    expect(await send(large)).toEqual([429, { detail: 'too many bodies arrive at once; try again' }, '1']);
    expect(await send(large, 'b')).toEqual([200, { members: 1 }, undefined]);
    held.end(large.slice(-2));
    second.end('"}');
    for (const one of [answered, secondAnswered]) expect(await one).toEqual([200, { members: 1 }, undefined]);
    await waitFor(() => budget.held === 0);
  });

  it('gives its room back when its caller disconnects or it is refused', async () => {
    const held = open();
    held.on('error', () => undefined);
    held.write(large.slice(0, -2));
    await waitFor(() => budget.held >= 300 * KIB);
    held.destroy();
    await waitFor(() => budget.held === 0);
    expect((await send(`${large}}`))[0]).toBe(422);
    await waitFor(() => budget.held === 0);
  });

  it('refuses to hold very many values, before they are made', async () => {
    const refused = {
      loc: ['body'],
      msg: 'holds too many values; send fewer, or several of them as one text',
      type: 'json_count',
    };
    expect(await send(`{"a":[${'{},'.repeat(60_000)}{}]}`)).toEqual([422, { detail: [refused] }, undefined]);
    const names = Array.from({ length: 60_000 }, (_, n) => `"n${n}":1`).join();
    expect(await send(`{${names}}`)).toEqual([422, { detail: [refused] }, undefined]);
    expect(await send(`{"a":[${'{},'.repeat(40_000)}{}]}`)).toEqual([200, { members: 1 }, undefined]);
  });
});
