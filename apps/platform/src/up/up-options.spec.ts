import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readCertificateFacts, readServerCertificate } from '#lib/data-folder';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { ensureSelfSigned } from '../preparation/self-signed-certificate.js';
import { parseUpOptions, type UpFlags } from './up-options.js';

const FLAGS: UpFlags = {
  data: '.agentplane',
  listen: '127.0.0.1:8470',
  kubeconfig: undefined,
  tlsCertificate: undefined,
  tlsKey: undefined,
  tlsSelfSigned: false,
};

describe('parseUpOptions', () => {
  const folder = temporaryFolder();
  const files = { certificate: join(folder, 'own.pem'), key: join(folder, 'own-key.pem') };
  const others = { certificate: join(folder, 'other.pem'), key: join(folder, 'other-key.pem') };

  it('takes addresses of this machine without a certificate, and any with one', async () => {
    expect(parseUpOptions(FLAGS)).toMatchObject({ host: '127.0.0.1', port: 8470, tls: undefined });
    expect(parseUpOptions({ ...FLAGS, listen: '[::1]:1' })).toMatchObject({ host: '::1', port: 1 });
    expect(parseUpOptions({ ...FLAGS, listen: '0.0.0.0:8470', tlsSelfSigned: true })).toMatchObject({
      host: '0.0.0.0',
      tls: { kind: 'self-signed' },
    });
    await ensureSelfSigned(files, ['agents.example'], systemClock);
    await ensureSelfSigned(others, ['agents.example'], systemClock);
    const given = { tlsCertificate: files.certificate, tlsKey: files.key };
    expect(parseUpOptions({ ...FLAGS, listen: '[::]:8470', ...given })).toMatchObject({
      host: '::',
      tls: { kind: 'files', files },
    });
  });

  it.each<[string, Partial<UpFlags>, string]>([
    ['an address beyond this machine without a certificate', { listen: '0.0.0.0:8470' }, '--tls-self-signed'],
    ['a name with a certificate', { listen: 'agents.example:1', tlsSelfSigned: true }, 'an address'],
    ['a key alone', { tlsKey: files.key }, 'belong together'],
    ['two certificates', { tlsSelfSigned: true, tlsCertificate: files.certificate }, 'two certificates'],
    ['a certificate that is missing', { tlsCertificate: '/missing', tlsKey: files.key }, 'reading /missing'],
    [
      'the key of another certificate',
      { tlsCertificate: files.certificate, tlsKey: others.key },
      'is not the key of',
    ],
    ['a key as certificate', { tlsCertificate: files.key, tlsKey: files.key }, 'holds no PEM certificate'],
  ])('refuses %s', (_case, flags, message) => {
    expect(() => parseUpOptions({ ...FLAGS, ...flags })).toThrow(message);
  });
});

describe('ensureSelfSigned', () => {
  const folder = temporaryFolder();
  const files = { certificate: join(folder, 'a.pem'), key: join(folder, 'a-key.pem') };
  const later = (days: number) => ({ now: () => new Date(Date.now() + days * 86_400_000) });

  it('keeps a certificate until a name is missing or its end is near', async () => {
    const made = async (
      names: readonly string[],
      clock: { now: () => Date } = systemClock,
    ): Promise<string> => {
      await ensureSelfSigned(files, names, clock);
      return readCertificateFacts(files.certificate).fingerprint;
    };
    const first = await made(['10.0.0.1']);
    expect(readCertificateFacts(files.certificate).names).toEqual(
      expect.arrayContaining(['10.0.0.1', 'localhost', '127.0.0.1']),
    );
    expect(await made(['10.0.0.1'])).toBe(first);
    expect(await made(['10.0.0.1'], later(700))).toBe(first);
    const second = await made(['agents.example']);
    expect(second).not.toBe(first);
    expect(await made(['agents.example'], later(800))).not.toBe(second);
  });

  it('makes another certificate where a crash left the key of another', async () => {
    await ensureSelfSigned(files, ['agents.example'], systemClock);
    const others = { certificate: join(folder, 'b.pem'), key: join(folder, 'b-key.pem') };
    await ensureSelfSigned(others, ['agents.example'], systemClock);
    copyFileSync(others.key, files.key);
    await ensureSelfSigned(files, ['agents.example'], systemClock);
    expect(readServerCertificate(files).names).toContain('agents.example');
  });

  it('refuses files that hold something else', async () => {
    writeFileSync(files.certificate, 'mine');
    await expect(ensureSelfSigned(files, [], systemClock)).rejects.toThrow('holds no PEM certificate');
  });
});
