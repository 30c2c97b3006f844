import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as x509 from '@peculiar/x509';
import { temporaryFolder } from '#lib/testing';
import { RestClient, RestRedirectError, RestUnreachableError } from './rest-client.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

describe('RestClient with a file of certificates', () => {
  const folder = temporaryFolder();
  const caFile = join(folder, 'ca.pem');
  let server: Server;
  let url: string;

  beforeAll(async () => {
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const made = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'CN=a',
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
    });
    const cert = made.toString('pem');
    writeFileSync(caFile, cert);
    const key = x509.PemConverter.encode(
      await webcrypto.subtle.exportKey('pkcs8', keys.privateKey),
      'PRIVATE KEY',
    );
    server = createServer({ cert, key }, (asked, answer) => {
      if (asked.url === '/moved') answer.writeHead(302, { location: 'https://example.org/' }).end();
      else if (asked.url === '/gone') answer.writeHead(204).end();
      else if (asked.url === '/odd') answer.writeHead(999).write('begun');
      else if (asked.url === '/lines') answer.end('{"n":1}\n{"n":2}\n');
      else if (asked.url === '/silent') answer.write('{"n":1}\n');
      else {
        let body = '';
        asked.on('data', (piece) => (body += String(piece)));
        asked.on('end', () => {
          answer.end(JSON.stringify({ method: asked.method, key: asked.headers['x-api-key'], body }));
        });
      }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('believes them, and no other client of the process does', async () => {
    const trusting = new RestClient({ url, key: 'k', caFile });
    expect(await trusting.request('POST', '/x', { a: 1 })).toEqual({
      method: 'POST',
      key: 'k',
      body: '{"a":1}',
    });
    await expect(new RestClient({ url, key: 'k' }).request('GET', '/x')).rejects.toThrow(
      RestUnreachableError,
    );
  });

  it('answers as others do: without a body, in lines, and with a redirect that is not followed', async () => {
    const rest = new RestClient({ url, key: 'k', caFile });
    expect(await rest.request('DELETE', '/gone')).toBeUndefined();
    const lines: unknown[] = [];
    for await (const some of rest.lines('/lines', { silentMs: 5_000 })) lines.push(...some);
    expect(lines).toEqual([{ n: 1 }, { n: 2 }]);
    await expect(rest.request('GET', '/moved')).rejects.toThrow(RestRedirectError);
    const silent = rest.lines('/silent', { silentMs: 300 });
    expect((await silent.next()).value).toEqual([{ n: 1 }]);
    await expect(silent.next()).rejects.toThrow(/nothing came for 0.3 s/);
  });

  it('reports an answer whose status is none of HTTP', async () => {
    const rest = new RestClient({ url, key: 'k', caFile });
    await expect(rest.request('GET', '/odd')).rejects.toThrow(RestUnreachableError);
    expect(await rest.request('DELETE', '/gone')).toBeUndefined();
  });

  it('refuses a file without a certificate by its name', () => {
    const wrong = join(folder, 'wrong.pem');
    writeFileSync(wrong, 'no certificate');
    expect(() => new RestClient({ url, key: 'k', caFile: wrong })).toThrow(`the certificate of ${wrong}`);
  });
});
