import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { CertificateAuthority } from '../pki/certificate-authority.js';
import { tlsNodeLogDialer } from './node-log-dialer.js';

describe('the log dialer over TLS', () => {
  const folder = temporaryFolder();
  const strangerFolder = temporaryFolder();
  let authority: CertificateAuthority;
  let node: Server;
  let port = 0;

  beforeAll(async () => {
    authority = await CertificateAuthority.open(folder, new Date());
    const { certificate, privateKey } = await authority.issue({
      kind: 'server',
      commonName: 'node',
      names: ['node-name'],
    });
    node = createServer(
      { key: privateKey, cert: certificate, ca: authority.certificate, requestCert: true },
      (request, response) => {
        const caller =
          request.socket instanceof TLSSocket ? request.socket.getPeerCertificate().subject.CN : '';
        response.end(`${request.url ?? ''} for ${String(caller)}`);
      },
    );
    node.listen(0, '127.0.0.1');
    await once(node, 'listening');
    port = (node.address() as AddressInfo).port;
  });
  afterAll(() => {
    node.close();
    node.closeAllConnections();
  });

  const ask = (by: CertificateAuthority) =>
    tlsNodeLogDialer(by)({
      nodeName: 'n',
      address: '127.0.0.1',
      port,
      path: '/containerLogs/a/b/c',
      signal: AbortSignal.timeout(5000),
    });

  it('presents a client certificate of the cluster', async () => {
    const { status, body } = await ask(authority);
    const chunks: Buffer[] = [];
    for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
    expect(status).toBe(200);
    expect(Buffer.concat(chunks).toString()).toBe('/containerLogs/a/b/c for kube-apiserver-kubelet-client');
  });

  it('refuses a node with a certificate of another authority', async () => {
    const stranger = await CertificateAuthority.open(strangerFolder, new Date());
    await expect(ask(stranger)).rejects.toThrow();
  });
});
