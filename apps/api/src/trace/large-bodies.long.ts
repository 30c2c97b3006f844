import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import type { TestTenant } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

const MIB = 1 << 20;

interface Answer {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
}

describe('a large body of a trace route', () => {
  const { api, tenant } = testApi();
  let other: TestTenant;

  beforeAll(async () => {
    other = await api.workspace();
  });

  const open = (path: string, headers: Record<string, string>, agent?: Agent): ClientRequest =>
    request(api.url + path, { method: 'POST', agent, headers: { 'x-api-key': tenant.key, ...headers } });
  const answerOf = async (sent: ClientRequest): Promise<Answer> => {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return { status: response.statusCode, retryAfter: response.headers['retry-after'] };
  };

  const run = (id: string, size: number): string =>
    `{"id":"${id}","name":"n","run_type":"chain","inputs":"${'x'.repeat(size)}"}`;
  const json = { 'content-type': 'application/json' };
  const form = { 'content-type': 'multipart/form-data; boundary=XX' };
  const part = (name: string, text: string): string =>
    `--XX\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json; length=${text.length}\r\n\r\n${text}\r\n`;

  const KINDS: [string, string, Record<string, string>, (id: string, size: number) => string][] = [
    ['a run', '/runs', json, run],
    ['a batch', '/runs/batch', json, (id, size) => `{"post":[${run(id, size)}]}`],
    [
      'the parts of one run',
      '/runs/multipart',
      form,
      (id, size) =>
        part(`post.${id}`, run(id, 1)) +
        part(`post.${id}.inputs`, `"${'x'.repeat(size / 2)}"`) +
        part(`post.${id}.outputs`, `"${'x'.repeat(size / 2)}"`) +
        '--XX--\r\n',
    ],
  ];

  it.each(KINDS)(
    'counts the body of %s while it is held, and refuses the next with 429 when no room is left',
    async (_name, path, headers, body) => {
      // the limit of one workspace is 64 MiB, half of that of all: two bodies that have arrived but for their
      // last bytes take nearly all of it
      const held = [randomUUID(), randomUUID()].map((id) => {
        const text = body(id, 30 * MIB);
        const sent = open(path, headers);
        sent.write(text.slice(0, -8));
        return { id, sent, end: text.slice(-8), answer: answerOf(sent) };
      });
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const late = randomUUID();
      const sendLate = async (): Promise<Answer> => {
        const sent = open(path, headers, agent);
        sent.end(body(late, 10 * MIB));
        return answerOf(sent);
      };
      await waitFor(() => api.services.ingestion.heldBytes >= 60 * MIB - 16);
      expect(await sendLate()).toEqual({ status: 429, retryAfter: '1' });
      // small bodies of other workspaces are still accepted, and so are large ones once memory is released
      expect((await tenant.call('POST', '/runs', run(randomUUID(), 10))).status).toBe(202);
      const foreign = open(path, { ...headers, 'x-api-key': other.key });
      foreign.end(body(randomUUID(), 10 * MIB));
      expect((await answerOf(foreign)).status).toBe(202);
      for (const { sent, end } of held) sent.end(end);
      for (const { id, answer } of held) {
        expect((await answer).status).toBe(202);
        expect(await api.store.runs.get(tenant.tenantId, id)).toBeDefined();
      }
      expect((await sendLate()).status).toBe(202);
      expect(await api.store.runs.get(tenant.tenantId, late)).toBeDefined();
      agent.destroy();
    },
  );

  it.each(KINDS)(
    'frees the room of the body of %s when its caller disconnects',
    async (_name, path, headers, body) => {
      for (let n = 0; n < 4; n++) {
        const sent = open(path, headers);
        sent.on('error', () => undefined);
        await new Promise<void>((resolve) => {
          sent.write(body(randomUUID(), 28 * MIB).slice(0, -8), () => resolve());
        });
        sent.destroy();
      }
      const id = randomUUID();
      await waitFor(async () => {
        const sent = open(path, headers);
        sent.end(body(id, 28 * MIB));
        return (await answerOf(sent)).status === 202;
      });
      await waitFor(() => api.services.ingestion.heldBytes === 0);
    },
  );

  it('counts the run of an answer until it is read, and refuses the next with 429 when no room is left', async () => {
    const id = randomUUID();
    const sent = open('/runs', json);
    sent.end(run(id, 30 * MIB));
    expect((await answerOf(sent)).status).toBe(202);
    const read = async (): Promise<IncomingMessage> => {
      const asked = request(`${api.url}/runs/${id}`, { agent: false, headers: { 'x-api-key': tenant.key } });
      asked.end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      return response;
    };
    // the limit of one workspace is 64 MiB
    const unread = [await read(), await read()];
    expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    const refused = await read();
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
    refused.resume();
    for (const response of unread) response.resume();
    await Promise.all(unread.map((response) => once(response, 'end')));
    await waitFor(async () => {
      const response = await read();
      response.resume();
      return response.statusCode === 200;
    });
  });

  it('refuses a body that is too large with a readable answer', async () => {
    for (const [, path, headers, body] of KINDS) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      // with its length announced, and without
      for (const isChunked of [false, true]) {
        const text = body(randomUUID(), 33 * MIB);
        const sent = open(
          path,
          { ...headers, ...(isChunked ? { 'transfer-encoding': 'chunked' } : {}) },
          agent,
        );
        sent.on('error', () => undefined);
        sent.end(text);
        expect({ path, isChunked, ...(await answerOf(sent)) }).toMatchObject({
          path,
          isChunked,
          status: 413,
        });
      }
      agent.destroy();
    }
  });

  it('ends its own request only when it breaks off in the middle', async () => {
    const { port } = new URL(api.url);
    for (const text of ['{"post":[{"id":', '', '{'.repeat(1000)]) {
      const socket = connect(Number(port), '127.0.0.1');
      await once(socket, 'connect');
      socket.write(
        `POST /runs/batch HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.key}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n${text}`,
      );
      socket.destroy();
    }
    expect((await tenant.call('GET', '/sessions')).status).toBe(200);
  });

  it('refuses a large body early on routes that accept less', async () => {
    const sent = open('/sessions', { ...json, 'transfer-encoding': 'chunked' });
    sent.on('error', () => undefined);
    sent.end(`{"name":"${'x'.repeat(2 * MIB)}"}`);
    expect((await answerOf(sent)).status).toBe(413);
  });
});
