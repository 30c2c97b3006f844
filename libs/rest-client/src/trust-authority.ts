import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { errorText } from '#lib/errors';

/**
 * Has every later connection of this process believe the certificates of a file too: those of an authority, or a server's
 * own one.
 * @param path PEM
 * @throws Error that names the file
 */
export function trustAuthority(path: string): void {
  try {
    const text = readFileSync(path, 'utf8');
    const known = getCACertificates('default');
    if (!known.includes(text)) setDefaultCACertificates([...known, text]);
  } catch (error) {
    throw new Error(`using the certificate of ${path} failed: ${errorText(error)}; give a PEM file`, {
      cause: error,
    });
  }
}
