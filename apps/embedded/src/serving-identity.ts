import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { KubeClient, type KubeConnection } from '#lib/kube';
import type { ServingIdentity } from '#lib/process-runtime';
import { systemClock } from '#lib/time';
import { CONFIG_MAPS } from '#lib/resources';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
const VALID_DAYS = 365;

/**
 * Identity for a foreign cluster: a self-signed certificate, made anew at every start (API servers take any
 * from a node unless configured otherwise), and the CA of the API server's client certificates, which
 * clusters publish in `kube-system`.
 */
export async function servingIdentityFor(
  connection: KubeConnection,
  nodeName: string,
): Promise<ServingIdentity> {
  const client = new KubeClient(connection);
  const published = await client.find(CONFIG_MAPS, {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication',
  });
  await client.close();
  return {
    ...(await selfSigned(nodeName)),
    clientCa: published?.data?.['client-ca-file'] ?? connection.ca ?? '',
  };
}

async function selfSigned(name: string): Promise<Omit<ServingIdentity, 'clientCa'>> {
  const { X509CertificateGenerator, SubjectAlternativeNameExtension, PemConverter } =
    await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const now = systemClock.now().getTime();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + VALID_DAYS * DAY_MS),
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: name },
      ]),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: certificate.toString('pem'), privateKey: PemConverter.encode(key, 'PRIVATE KEY') };
}
