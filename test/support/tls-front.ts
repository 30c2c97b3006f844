import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A certificate of a self-made authority. */
export interface MadeCertificate {
  /** PEM, as the others. */
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
}

/** An https server of a self-made CA that hands every request to a plain one. */
export interface TlsFront {
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  stop(): void;
}

/** @param name of the host */
export async function makeCertificate(name: string): Promise<MadeCertificate> {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const [caKeys, keys] = await Promise.all(
    [0, 1].map(() => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])),
  );
  if (!caKeys || !keys) throw new Error('no keys were generated');
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=self-made',
    keys: caKeys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.BasicConstraintsExtension(true)],
    ...validity,
  });
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
    ...validity,
  });
  const key = x509.PemConverter.encode(
    await webcrypto.subtle.exportKey('pkcs8', keys.privateKey),
    'PRIVATE KEY',
  );
  return { key, cert: certificate.toString('pem'), ca: ca.toString('pem') };
}

export async function startTlsFront(name: string, target: string): Promise<TlsFront> {
  const { key, cert, ca } = await makeCertificate(name);
  const server = createServer({ key, cert }, (incoming, answer) => {
    const { method, url, headers } = incoming;
    const onward = request(new URL(url ?? '/', target), { method, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    ca,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
