import { once } from 'node:events';
import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { waitFor } from '#lib/testing';
import { AnswerBudget } from './answer-budget.js';

const PAGE = 65_536;

describe('the budget of answers', () => {
  let server: FastifyInstance;
  let budget: AnswerBudget;
  /** Lets the answer's next page come. */
  let turnPage: () => void;
  let pages = 0;

  beforeEach(async () => {
    server = fastify();
    budget = new AnswerBudget(16 * PAGE);
    pages = 0;
    server.get('/pages', (_request, reply) => {
      void budget.send(reply, 'tenant', async (account) => {
        account.hold(PAGE);
        return Readable.from(
          (async function* () {
            for (;;) {
              yield Buffer.alloc(PAGE);
              account.keep(0);
              await new Promise<void>((resolve) => (turnPage = resolve));
              pages++;
              account.hold(PAGE);
            }
          })(),
          { objectMode: false },
        );
      });
      return reply;
    });
    await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterEach(() => server.close());

  it('holds nothing for a client that left while the next page was looked for', async () => {
    const { port } = server.server.address() as AddressInfo;
    const request = get({ port, host: '127.0.0.1', path: '/pages', agent: false });
    request.on('error', () => undefined);
    const [response] = (await once(request, 'response')) as [Readable];
    response.on('error', () => undefined);
    response.resume();
    await waitFor(async () => turnPage !== undefined && budget.held === 0);
    request.destroy();
    await waitFor(async () => (await connections()) === 0);
    turnPage();
    await waitFor(async () => pages === 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(budget.held).toBe(0);
  });

  const connections = (): Promise<number> =>
    new Promise((resolve, reject) =>
      server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
});
