import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { type CertificateFiles, isCertificatePair, readCertificateFacts } from '#lib/data-folder';
import type { Clock } from '#lib/time';
import { reachableAddresses } from './reachable-addresses.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
/** Clients that hold to the rules of browsers take no certificate that lasts longer. */
const VALID_DAYS = 825;
/** Sooner than that is no reason to give every client another one. */
const LEFT_DAYS = 30;
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/**
 * Makes the platform's own certificate, or leaves the one that is there: clients hold a copy of it. Another one is made
 * where a name is missing that it must be for, before it ends, and where the key is that of another.
 * @param names that clients use; those of this machine are added to a new one
 * @throws Error for files that are there and cannot be used
 */
export async function ensureSelfSigned(
  files: CertificateFiles,
  names: readonly string[],
  clock: Pick<Clock, 'now'>,
): Promise<void> {
  const nowMs = clock.now().getTime();
  // a crash between the two writes leaves a certificate with the key of another
  if (existsSync(files.certificate) && existsSync(files.key) && isCertificatePair(files)) {
    const kept = readCertificateFacts(files.certificate);
    const isLasting = kept.validTo.getTime() - nowMs > LEFT_DAYS * DAY_MS;
    if (isLasting && names.every((name) => kept.names.includes(name))) return;
  }
  const { certificate, key } = await selfSigned([...new Set([...names, ...ownNames()])], nowMs);
  mkdirSync(dirname(files.certificate), { recursive: true, mode: 0o700 });
  // in this order: a certificate without its key would be taken for one of the user's
  writeFileSync(files.key, key, { mode: 0o600 });
  writeFileSync(files.certificate, certificate, { mode: 0o600 });
}

/** Names of this machine, as others and its own programs may call it. */
function ownNames(): readonly string[] {
  const addresses = reachableAddresses().map(({ address }) => address);
  const name = hostname();
  return ['localhost', '127.0.0.1', ...(/^[\w.-]{1,253}$/.test(name) ? [name] : []), ...addresses];
}

async function selfSigned(
  names: readonly string[],
  nowMs: number,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const serial = randomBytes(16);
  serial.writeUInt8(serial.readUInt8(0) & 0x7f || 1, 0); // positive
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=agentplane',
    serialNumber: serial.toString('hex'),
    keys,
    signingAlgorithm: ALGORITHM,
    // a day back: clocks of clients may be behind
    notBefore: new Date(nowMs - DAY_MS),
    notAfter: new Date(nowMs + (VALID_DAYS - 1) * DAY_MS),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    certificate: `${certificate.toString('pem')}\n`,
    key: `${x509.PemConverter.encode(key, 'PRIVATE KEY')}\n`,
  };
}
