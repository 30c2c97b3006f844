import { X509Certificate } from 'node:crypto';
import { optionalChecked, type Field } from './field.js';

/** They go into a variable of every agent, and Linux takes 128 KB in one. */
const MAX_BYTES = 65_536;

/** One or more certificates as PEM; may be missing. */
export function certificates(env: string, about: string): Field<string | undefined> {
  return optionalChecked(env, about, requireCertificates);
}

function requireCertificates(pem: string): void {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('must be certificates as PEM, but has no BEGIN CERTIFICATE');
  if (pem.includes('PRIVATE KEY')) throw new Error('must be certificates alone, but has a private key');
  if (Buffer.byteLength(pem) > MAX_BYTES)
    throw new Error(
      `must have at most ${MAX_BYTES} bytes, but has ${Buffer.byteLength(pem)}; leave out public authorities, which are trusted anyway`,
    );
  for (const [at, block] of blocks.entries())
    try {
      new X509Certificate(block);
    } catch (cause) {
      throw new Error(`must be certificates as PEM, but number ${at + 1} cannot be read`, { cause });
    }
}
