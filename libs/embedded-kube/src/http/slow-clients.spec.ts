import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { SERVER_LIMITS } from '#lib/http';
import { createLogger } from '#lib/telemetry';
import { sendRaw, sendUnread, temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { CertificateAuthority } from '../pki/certificate-authority.js';
import { json } from './request-context.js';
import { TlsListener } from './tls-listener.js';

const folder = temporaryFolder();
let listener: TlsListener;
let port: number;

beforeAll(async () => {
  const authority = await CertificateAuthority.open(folder, systemClock.now());
  const serving = await authority.issue({ kind: 'server', commonName: 'kube', names: ['127.0.0.1'] });
  listener = new TlsListener({
    audit: async (_audited, work) => work(),
    key: serving.privateKey,
    certificate: serving.certificate,
    clientCa: authority.certificate,
    authenticate: async () => ({ username: 'test', groups: [] }),
    knowsResource: () => true,
    findListeners: () => undefined,
    handler: async (context) => {
      if (context.info.path === '/large')
        return { kind: 'bytes', code: 200, contentType: 'text/plain', body: Buffer.alloc(32 << 20) };
      return json({ length: (await context.readBody()).length });
    },
    log: createLogger('test', 'silent'),
    clock: systemClock,
    limits: { ...SERVER_LIMITS, headersMs: 200, bodyIdleMs: 300, answerStallMs: 300, checkMs: 50 },
  });
  port = await listener.listen('127.0.0.1', 0);
});

afterAll(() => listener.close());

const secured = (): Socket => connect({ port, host: '127.0.0.1', rejectUnauthorized: false });

describe('the API server', () => {
  it.each([
    ['headers', 'POST /api HTTP/1.1\r\nhost: x\r\n'],
    ['a body', 'POST /api HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf'],
  ])('answers a client that stops in the middle of %s with a Status, and cuts it', async (_title, text) => {
    const { status, body } = await sendRaw(port, text, secured());
    expect([status, JSON.parse(body)]).toEqual([
      408,
      expect.objectContaining({ kind: 'Status', reason: 'Timeout' }),
    ]);
  });

  it('cuts a client that does not read its answer', async () => {
    await sendUnread(port, 'GET /large HTTP/1.1\r\nhost: x\r\n\r\n', secured());
  });
});
