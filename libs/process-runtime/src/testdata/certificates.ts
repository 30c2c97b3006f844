import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { ServingIdentity } from '../log/log-server.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

export interface TestCertificates extends ServingIdentity {
  /** A client certificate of the CA in this group. */
  client(group: string): Promise<{ key: string; cert: string }>;
}

/** A CA with a serving certificate for 127.0.0.1. */
export async function certificates(): Promise<TestCertificates> {
  const keys = (): Promise<webcrypto.CryptoKeyPair> =>
    webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const pem = async (key: webcrypto.CryptoKey): Promise<string> =>
    x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
  const caKeys = await keys();
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=test-ca',
    keys: caKeys,
    signingAlgorithm: ALGORITHM,
    ...validity,
    extensions: [new x509.BasicConstraintsExtension(true)],
  });
  const issue = async (
    subject: string,
    extensions: x509.Extension[],
  ): Promise<{ key: string; cert: string }> => {
    const pair = await keys();
    const certificate = await x509.X509CertificateGenerator.create({
      subject,
      issuer: ca.subject,
      publicKey: pair.publicKey,
      signingKey: caKeys.privateKey,
      signingAlgorithm: ALGORITHM,
      ...validity,
      extensions,
    });
    return { key: await pem(pair.privateKey), cert: certificate.toString('pem') };
  };
  const serving = await issue('CN=node', [
    new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
  ]);
  return {
    certificate: serving.cert,
    privateKey: serving.key,
    clientCa: ca.toString('pem'),
    client: (group) => issue(`CN=client, O=${group}`, []),
  };
}
