import { selfSigned } from '#lib/testing';
import { certificates } from './certificates.js';
import { loadConfig } from './load-config.js';

const CONFIG = { trusted: certificates('CA', 'what is trusted') };
const read = (CA?: string) => loadConfig(CONFIG, { CA }).trusted;

describe('certificates', () => {
  it('reads one and several', async () => {
    const [{ certificate }, other] = [await selfSigned(), await selfSigned()];
    expect(read(certificate)).toBe(certificate);
    const both = `# ours\n${certificate}\n${other.certificate}\n`;
    expect(read(both)).toContain(other.certificate);
    expect(read()).toBeUndefined();
  });

  it('refuses what is none, a key, a broken one, and more than a variable holds', async () => {
    const { certificate, key } = await selfSigned();
    expect(() => read('ca.crt')).toThrow(/CA must be certificates as PEM, but has no BEGIN CERTIFICATE/);
    expect(() => read(`${certificate}\n${key}`)).toThrow(/certificates alone, but has a private key/);
    const broken = `${certificate}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`;
    expect(() => read(broken)).toThrow(/number 2 cannot be read/);
    expect(() => read(`${certificate}\n`.repeat(200))).toThrow(/at most 65536 bytes/);
  });
});
