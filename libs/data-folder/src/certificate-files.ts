import { readFileSync } from 'node:fs';
import { errorText } from '#lib/errors';

const { createPrivateKey, X509Certificate } = process.getBuiltinModule('node:crypto');

/** Paths of a server's certificate and key, both PEM. */
export interface CertificateFiles {
  /** The server's certificate, then those that lead to its authority. */
  readonly certificate: string;
  readonly key: string;
}

/** Facts about the first certificate of a file. */
export interface CertificateFacts {
  /** SHA-256 in pairs of hexadecimal digits, as `openssl x509 -fingerprint -sha256` prints it. */
  readonly fingerprint: string;
  /** Names and addresses that it is for. */
  readonly names: readonly string[];
  readonly validTo: Date;
}

/** A certificate with its key, ready for a server. */
export interface ServerCertificate extends CertificateFacts {
  /** PEM. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

/** @throws Error that names the file */
export function readCertificateFacts(path: string): CertificateFacts {
  return factsOf(parsed(path, 'a PEM certificate', (text) => new X509Certificate(text)).value);
}

/** @throws Error that names the invalid file and the reason */
export function readServerCertificate(files: CertificateFiles): ServerCertificate {
  const { certificate, key, isPair } = parsedPair(files);
  if (!isPair)
    throw new Error(
      `${files.key} is not the key of ${files.certificate}: name the key that the certificate was made for`,
    );
  return { ...factsOf(certificate.value), certificate: certificate.text, key: key.text };
}

/**
 * True when a key is that of its certificate.
 * @throws Error that names the file that holds neither
 */
export function isCertificatePair(files: CertificateFiles): boolean {
  return parsedPair(files).isPair;
}

function parsedPair(files: CertificateFiles) {
  const certificate = parsed(files.certificate, 'a PEM certificate', (text) => new X509Certificate(text));
  const key = parsed(files.key, 'a PEM private key without a passphrase', createPrivateKey);
  return { certificate, key, isPair: certificate.value.checkPrivateKey(key.value) };
}

function factsOf({
  fingerprint256,
  subjectAltName,
  validTo,
}: InstanceType<typeof X509Certificate>): CertificateFacts {
  const names = (subjectAltName ?? '').matchAll(/(?:DNS|IP Address):([^,\s]+)/g);
  return {
    fingerprint: fingerprint256,
    names: [...names].map(([, name = '']) => name),
    validTo: new Date(validTo),
  };
}

function parsed<T>(
  path: string,
  what: string,
  parse: (text: string) => T,
): { readonly text: string; readonly value: T } {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`reading ${path} failed: ${errorText(error)}`, { cause: error });
  }
  try {
    return { text, value: parse(text) };
  } catch (error) {
    // the parser's own words may quote the file
    throw new Error(`${path} holds no ${what.replace(/^a /, '')}: give ${what}`, { cause: error });
  }
}
