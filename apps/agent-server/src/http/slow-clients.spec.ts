import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SERVER_LIMITS } from '#lib/http';
import { createLogger } from '#lib/telemetry';
import { sendRaw, sendUnread } from '#lib/testing';
import { systemClock } from '#lib/time';
import { buildHttpServer } from './http-server.js';
import { OpenReplies } from './open-replies.js';
import { UnsentOutput } from './unsent-output.js';

let app: FastifyInstance;
let port: number;

beforeAll(async () => {
  app = buildHttpServer({
    verifier: undefined,
    readiness: { notReady: undefined, notStarted: undefined },
    corsOrigins: [],
    replies: new OpenReplies(),
    unsent: new UnsentOutput({
      clock: systemClock,
      limits: { softBytes: 1e9, hardBytes: 1e9, lookMs: 500 },
      onCut: () => undefined,
    }),
    info: () => ({}),
    log: createLogger('test', 'silent'),
    limits: { ...SERVER_LIMITS, headersMs: 200, bodyIdleMs: 300, answerStallMs: 300, checkMs: 50 },
  });
  app.post('/threads', async (request) => request.body);
  app.get('/state', async () => ({ text: 'x'.repeat(32_000_000) }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});

afterAll(() => app.close());

const BODY = 'POST /threads HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';

describe('the agent server', () => {
  it.each([
    ['headers', BODY],
    ['a body', `${BODY}content-length: 100\r\n\r\n{"a":`],
    ['a chunked body', `${BODY}transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n`],
  ])('answers 408 and cuts a client that stops in the middle of %s', async (_title, text) => {
    expect((await sendRaw(port, text)).status).toBe(408);
  });

  it('cuts a client that does not read a large state', async () => {
    const closed = once(app.server, 'request').then(([, response]) =>
      once(response as ServerResponse, 'close'),
    );
    await sendUnread(port, 'GET /state HTTP/1.1\r\nhost: x\r\n\r\n');
    await closed;
  });
});
