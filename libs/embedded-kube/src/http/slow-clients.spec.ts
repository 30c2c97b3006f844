import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { SERVER_LIMITS } from '#lib/http';
import { sendRaw, sendUnread } from '#lib/testing';
import { testListener } from '../testdata/test-listener.js';
import { json } from './request-context.js';

const port = testListener({
  authenticate: async () => ({ username: 'test', groups: [] }),
  handler: async (context) => {
    if (context.info.path === '/large')
      return { kind: 'bytes', code: 200, contentType: 'text/plain', body: Buffer.alloc(32 << 20) };
    return json({ length: (await context.readBody()).length });
  },
  limits: { ...SERVER_LIMITS, headersMs: 200, bodyIdleMs: 300, answerStallMs: 300, checkMs: 50 },
});

const secured = (): Socket => connect({ port: port(), host: '127.0.0.1', rejectUnauthorized: false });

describe('the API server', () => {
  it.each([
    ['headers', 'POST /api HTTP/1.1\r\nhost: x\r\n'],
    ['a body', 'POST /api HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf'],
  ])('answers a client that stops in the middle of %s with a Status, and cuts it', async (_title, text) => {
    const { status, body } = await sendRaw(port(), text, secured());
    expect([status, JSON.parse(body)]).toEqual([
      408,
      expect.objectContaining({ kind: 'Status', reason: 'Timeout' }),
    ]);
  });

  it('cuts a client that does not read its answer', async () => {
    await sendUnread(port(), 'GET /large HTTP/1.1\r\nhost: x\r\n\r\n', secured());
  });
});
