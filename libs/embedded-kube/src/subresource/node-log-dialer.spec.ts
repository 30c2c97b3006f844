import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { TLSSocket } from 'node:tls';
import { CertificateAuthority } from '../pki/certificate-authority.js';
import { tlsNodeLogDialer } from './all-subresources.js';

describe('the log dialer over TLS', () => {
  const folder = temporaryFolder();
  const strangerFolder = temporaryFolder();
  let authority: CertificateAuthority;
  let node: Server;
  let port = 0;
  let asked = 0;

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
        asked++;
        const caller =
          request.socket instanceof TLSSocket ? request.socket.getPeerCertificate().subject.CN : '';
        const groups =
          request.socket instanceof TLSSocket ? request.socket.getPeerCertificate().subject.O : 'unknown';
        response.end(`${request.url ?? ''} for ${String(caller)} in ${String(groups)}`);
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

  const ask = (by: CertificateAuthority, nodeName = 'node-name') =>
    tlsNodeLogDialer(by, { clock: systemClock })({
      nodeName,
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
    expect(Buffer.concat(chunks).toString()).toBe(
      '/containerLogs/a/b/c for kube-apiserver-kubelet-client in undefined',
    );
  });

  it('sends nothing to the server of another node', async () => {
    await expect(ask(authority, 'another-node')).rejects.toThrow("does not match certificate's altnames");
    expect(asked).toBe(1);
  });

  it('gives up a node that accepts and never answers', async () => {
    const mute = createTcpServer();
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const dial = tlsNodeLogDialer(authority, { clock: systemClock, timeoutMs: 200 });
    const call = dial({
      nodeName: 'node-name',
      address: '127.0.0.1',
      port: (mute.address() as AddressInfo).port,
      path: '/containerLogs/a/b/c',
      signal: new AbortController().signal,
    });
    await expect(call).rejects.toThrow('node node-name did not answer within 0.2 s');
    mute.close();
  });

  it('refuses a node with a certificate of another authority', async () => {
    const stranger = await CertificateAuthority.open(strangerFolder, new Date());
    await expect(ask(stranger)).rejects.toThrow();
  });
});
