import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as x509 from '@peculiar/x509';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, waitFor } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { TlsFront } from './tls-front.js';
import { askedOrigin } from './wire/origin-of.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

async function certificate(): Promise<{ readonly certificate: string; readonly key: string }> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=a',
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: 'agents.example' },
      ]),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: made.toString('pem'), key: x509.PemConverter.encode(key, 'PRIVATE KEY') };
}

describe('TlsFront', () => {
  const folder = temporaryFolder();
  const files = { certificate: join(folder, 'tls.pem'), key: join(folder, 'key.pem') };
  const write = (made: { readonly certificate: string; readonly key: string }): void => {
    writeFileSync(files.key, made.key);
    writeFileSync(files.certificate, made.certificate);
  };
  const behind = createServer((asked, answer) => {
    const { socket, headers } = asked;
    const origin = askedOrigin({ protocol: 'https', host: headers.host ?? '', socket });
    answer.end(`${asked.url} ${String((socket as TLSSocket).encrypted)} ${origin}`);
  });
  const warnings: string[] = [];
  const log = createLogger('tls-front', 'silent');
  log.warn = (_fields: unknown, message?: string) => void warnings.push(message ?? '');
  /** Files are looked at a hundred times as often. */
  const hurriedClock: Clock = {
    ...systemClock,
    after: (ms, callback) => systemClock.after(ms / 100, callback),
  };
  let front: TlsFront;
  let port = 0;

  beforeAll(async () => {
    write(await certificate());
    front = new TlsFront({
      address: { host: '127.0.0.1', port: 0 },
      files,
      behind,
      mayUpgrade: () => false,
      log,
      clock: hurriedClock,
    });
    port = await front.listen();
  });
  afterAll(() => front.stop());

  const ask = (host = 'localhost'): Promise<{ readonly body: string; readonly fingerprint: string }> =>
    new Promise((resolve, reject) => {
      const agent = new Agent({ rejectUnauthorized: false, maxCachedSessions: 0 });
      request({ host: '127.0.0.1', port, path: '/x', agent, headers: { host } }, (answer) => {
        const { fingerprint256: fingerprint } = (answer.socket as TLSSocket).getPeerCertificate();
        let body = '';
        answer.on('data', (piece) => (body += String(piece)));
        answer.on('end', () => resolve({ body, fingerprint }));
      })
        .on('error', reject)
        .end();
    });

  it('hands requests on as sent over TLS', async () => {
    expect((await ask()).body).toBe('/x true https://localhost');
  });

  it('lets names of the certificate, and no others, into answered URLs', async () => {
    expect((await ask('agents.example')).body).toBe('/x true https://agents.example');
    expect((await ask('evil.example')).body).toBe('/x true ');
  });

  it('follows renewed files without a restart, and keeps the old certificate while they do not match', async () => {
    const [first, next] = [(await ask()).fingerprint, await certificate()];
    writeFileSync(files.certificate, next.certificate);
    await waitFor(() => warnings.length > 0, {
      what: 'a look at files that do not match',
    });
    expect(warnings).toEqual(['certificate files changed and cannot be used; the former one stays']);
    expect((await ask()).fingerprint).toBe(first);
    writeFileSync(files.key, next.key);
    const renewed = async (): Promise<boolean> => (await ask()).fingerprint !== first;
    await waitFor(renewed, { what: 'the renewed certificate' });
  });
});
