import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { CertificateAuthority } from './certificate-authority.js';

const at = (year: number): Date => new Date(`${year}-03-01T00:00:00Z`);

describe('CertificateAuthority', () => {
  const root = temporaryFolder();
  const newFolder = (): string => join(mkdtempSync(join(root, 'pki-')), 'pki');

  it('keeps its certificate for five years', async () => {
    const folder = newFolder();
    const { certificate } = await CertificateAuthority.open(folder, at(2026));
    expect((await CertificateAuthority.open(folder, at(2030))).certificate).toBe(certificate);
  });

  it('renews its certificate five years before it ends, and trusts what the former one has signed', async () => {
    const folder = newFolder();
    const former = await CertificateAuthority.open(folder, at(2026));
    const issued = await former.issue({ kind: 'client', user: 'ann', groups: [] });
    const renewed = await CertificateAuthority.open(folder, at(2032));
    const [before, after, client] = [former.certificate, renewed.certificate, issued.certificate].map(
      (pem) => new X509Certificate(pem),
    );
    expect(after?.validToDate).toEqual(at(2042));
    expect(client?.checkIssued(after as X509Certificate)).toBe(true);
    expect(client?.verify((after as X509Certificate).publicKey)).toBe(true);
    // who holds the former certificate trusts what is served from now on
    const served = await renewed.issue({ kind: 'server', commonName: 'localhost', names: ['localhost'] });
    expect(new X509Certificate(served.certificate).checkIssued(before as X509Certificate)).toBe(true);
    expect(readFileSync(join(folder, 'ca.crt'), 'utf8')).toBe(renewed.certificate);
    expect(statSync(join(folder, 'ca.crt')).mode & 0o777).toBe(0o600);
  });

  it('renews a certificate that a wrong clock let begin later', async () => {
    const folder = newFolder();
    await CertificateAuthority.open(folder, at(2040));
    const { certificate } = await CertificateAuthority.open(folder, at(2026));
    expect(new X509Certificate(certificate).validToDate).toEqual(at(2036));
  });
});
