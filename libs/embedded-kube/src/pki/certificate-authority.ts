import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import { join } from 'node:path';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { IssuedCertificate, KubeconfigOptions } from '../api-server-options.js';
import { ensureSecretFile, replaceSecretFile } from './token-issuer.js';

const KEY_BYTES = 32;
const NAME = 'encryption.key';

/**
 * The keys of the Secrets, one a line in base64; one is made on the first start. The first seals. A new key is put
 * before the others; the next start seals everything with it, and those after it may go.
 */
export async function openEncryptionKeys(folder: string): Promise<readonly Buffer[]> {
  const text = await ensureSecretFile(join(folder, NAME), () =>
    Promise.resolve(`${randomBytes(KEY_BYTES).toString('base64')}\n`),
  );
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line, at) => {
    const key = Buffer.from(line.trim(), 'base64');
    if (key.length !== KEY_BYTES)
      throw new Error(`line ${at + 1} of ${NAME} has ${key.length} bytes; a key is 32 bytes in base64`);
    return key;
  });
}

export type KubeCredentials = IssuedCertificate | { readonly token: string };

/** A kubeconfig with everything inline: it stays good when files move. JSON is YAML too, and is read without a parser of it. */
export function renderKubeconfig(
  server: string,
  caCertificate: string,
  credentials: KubeCredentials,
  { context = 'agentplane', namespace }: KubeconfigOptions,
): string {
  const user =
    'token' in credentials
      ? { token: credentials.token }
      : {
          'client-certificate-data': base64(credentials.certificate),
          'client-key-data': base64(credentials.privateKey),
        };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: context, cluster: { server, 'certificate-authority-data': base64(caCertificate) } }],
    users: [{ name: context, user }],
    contexts: [
      { name: context, context: { cluster: context, user: context, ...(namespace ? { namespace } : {}) } },
    ],
    'current-context': context,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

cryptoProvider.set(webcrypto);

const KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const;
const YEARS = 10;
/**
 * Minimum remaining years; an authority with fewer is renewed at a start. Certificates issued at a start are
 * valid no longer than their authority, so that a process may run for so long, and copies of a kubeconfig
 * elsewhere, which hold the former certificate, must be renewed within that time.
 */
const LEAST_YEARS = 5;
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

/** Subject of a certificate: a server under these names, or a client that is this user. */
export type CertificateSubject =
  | { readonly kind: 'server'; readonly commonName: string; readonly names: readonly string[] }
  | { readonly kind: 'client'; readonly user: string; readonly groups: readonly string[] };

/** The cluster's own certificate authority, from `ca.key` and `ca.crt` of its folder. */
export class CertificateAuthority {
  private constructor(
    private readonly key: webcrypto.CryptoKey,
    /** PEM */
    readonly certificate: string,
    private readonly now: Date,
  ) {}

  /**
   * Reads the authority, or makes it on the first start. A certificate that ends before long, or begins only later since the
   * clock was wrong when it was made, is replaced by one of the same key and name: what the former one has signed stays good.
   */
  static async open(folder: string, now: Date): Promise<CertificateAuthority> {
    const keyText = await ensureSecretFile(join(folder, 'ca.key'), newPrivateKey);
    const key = await importPrivateKey(keyText);
    const path = join(folder, 'ca.crt');
    const make = (): Promise<string> => selfSigned(key, now);
    const found = await ensureSecretFile(path, make);
    const certificate = isToBeRenewed(found, now) ? await replaceSecretFile(path, make) : found;
    return new CertificateAuthority(key, certificate, now);
  }

  async issue(subject: CertificateSubject): Promise<IssuedCertificate> {
    const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
    const authority = new X509Certificate(this.certificate);
    const certificate = await X509CertificateGenerator.create({
      ...validity(this.now),
      serialNumber: serialNumber(),
      subject: subjectName(subject),
      issuer: authority.subjectName,
      publicKey: keys.publicKey,
      signingKey: this.key,
      signingAlgorithm: SIGNING,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([subject.kind === 'server' ? SERVER_AUTH : CLIENT_AUTH]),
        await AuthorityKeyIdentifierExtension.create(authority.publicKey),
        ...(subject.kind === 'server' ? [alternativeNames(subject.names)] : []),
      ],
    });
    return {
      certificate: `${certificate.toString('pem')}\n`,
      privateKey: await exportPrivateKey(keys.privateKey),
    };
  }
}

async function selfSigned(key: webcrypto.CryptoKey, now: Date): Promise<string> {
  const publicKey = await publicKeyOf(key);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(now),
    serialNumber: serialNumber(),
    name: 'CN=agentplane-ca',
    keys: { privateKey: key, publicKey },
    signingAlgorithm: SIGNING,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(
        KeyUsageFlags.keyCertSign | KeyUsageFlags.digitalSignature | KeyUsageFlags.cRLSign,
        true,
      ),
      await SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

function subjectName(subject: CertificateSubject): Record<string, string[]>[] {
  if (subject.kind === 'server') return [{ CN: [subject.commonName] }];
  return [...subject.groups.map((group) => ({ O: [group] })), { CN: [subject.user] }];
}

function alternativeNames(names: readonly string[]): SubjectAlternativeNameExtension {
  return new SubjectAlternativeNameExtension(
    names.map((value) => ({ type: isIP(value) ? ('ip' as const) : ('dns' as const), value })),
  );
}

function isToBeRenewed(pem: string, now: Date): boolean {
  const { notBefore, notAfter } = new X509Certificate(pem);
  return notBefore > now || notAfter < yearsAfter(now, LEAST_YEARS);
}

function yearsAfter(now: Date, years: number): Date {
  const then = new Date(now);
  then.setUTCFullYear(now.getUTCFullYear() + years);
  return then;
}

function validity(now: Date): { readonly notBefore: Date; readonly notAfter: Date } {
  // an hour back: the clock of a machine that just woke may still be corrected
  return { notBefore: new Date(now.getTime() - 3_600_000), notAfter: yearsAfter(now, YEARS) };
}

function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f || 1, 0); // positive
  return bytes.toString('hex');
}

async function newPrivateKey(): Promise<string> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  return exportPrivateKey(keys.privateKey);
}

async function exportPrivateKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}

async function importPrivateKey(pem: string): Promise<webcrypto.CryptoKey> {
  const [bytes] = PemConverter.decode(pem);
  if (!bytes)
    throw new Error('reading the key of the certificate authority failed: the file holds no PEM key');
  return webcrypto.subtle.importKey('pkcs8', bytes, KEY, true, ['sign']);
}

async function publicKeyOf(key: webcrypto.CryptoKey): Promise<webcrypto.CryptoKey> {
  const { d: _private, key_ops: _operations, ...jwk } = await webcrypto.subtle.exportKey('jwk', key);
  return webcrypto.subtle.importKey('jwk', { ...jwk, key_ops: ['verify'] }, KEY, true, ['verify']);
}
