import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SERVER_LIMITS } from '#lib/http';
import { sendRaw, sendUnread, waitFor } from '#lib/testing';
import { bareHttpServer } from '../../testdata/bare-http-server.js';
import { access } from './route-access.js';

let app: FastifyInstance;
let port: number;

beforeAll(async () => {
  app = bareHttpServer({
    limits: { ...SERVER_LIMITS, headersMs: 200, bodyIdleMs: 300, answerStallMs: 300, checkMs: 50 },
  });
  app.post('/threads', access('any'), async (request) => request.body);
  app.get('/state', access('any'), async () => ({ text: 'x'.repeat(32_000_000) }));
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

  it('refuses large bodies with 429 while those of others have not arrived', async () => {
    const mib = 1024 * 1024;
    const patient = bareHttpServer({ limits: SERVER_LIMITS });
    patient.post('/lengths', access('any'), async ({ body }) => ({ length: String(body).length }));
    await patient.listen({ host: '127.0.0.1', port: 0 });
    const { port: patientPort } = patient.server.address() as AddressInfo;
    const open = (path: string): ClientRequest => {
      const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      const sent = request({
        port: patientPort,
        host: '127.0.0.1',
        method: 'POST',
        path,
        headers,
        agent: false,
      });
      sent.on('error', () => undefined);
      return sent;
    };
    const statusOf = async (sent: ClientRequest): Promise<number | undefined> => {
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    const send = async (bytes: number): Promise<number | undefined> => {
      const sent = open('/lengths');
      sent.end(`"${'x'.repeat(bytes)}"`);
      return statusOf(sent);
    };
    const held = Array.from({ length: 4 }, () => open('/lengths'));
    for (const sent of held) sent.write(`"${'x'.repeat(60 * mib)}`);
    await waitFor(() => held.every(({ socket }) => socket?.writableLength === 0));
    expect(await send(40 * mib)).toBe(429);
    expect(await send(10)).toBe(200);
    for (const sent of held) sent.end('"');
    expect(await Promise.all(held.map(statusOf))).toEqual([200, 200, 200, 200]);
    expect(await send(40 * mib)).toBe(200);
    await patient.close();
  });

  it('cuts a client that does not read a large state', async () => {
    const closed = once(app.server, 'request').then(([, response]) =>
      once(response as ServerResponse, 'close'),
    );
    await sendUnread(port, 'GET /state HTTP/1.1\r\nhost: x\r\n\r\n');
    await closed;
  });
});
