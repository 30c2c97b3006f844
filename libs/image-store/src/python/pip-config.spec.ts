import { describe, expect, it } from '@jest/globals';
import { requireHarmlessConfig } from './package-installer.js';

describe('requireHarmlessConfig', () => {
  it('takes indexes, certificates and time limits', () => {
    const text =
      '# of the team\n[global]\nindex-url = https://index.test/simple\nextra_index_url =\n  https://a.test\n  https://b.test\ntimeout: 60\n[install]\ncert = ./ca.pem\n';
    expect(() => requireHarmlessConfig('pip.conf', text)).not.toThrow();
  });

  it.each([
    'target = /usr/lib',
    'PREFIX=/usr',
    '  root: /',
    'no_binary = :all:',
    '--log = /etc/x',
    'user=yes',
    'constraint = c.txt',
    'group = pyproject.toml:dev',
    'config-settings = a=b',
    'a-setting-of-later = 1',
    '\u2028no-binary = x',
  ])('refuses %j', (line) => {
    expect(() => requireHarmlessConfig('pip.conf', `[global]\ntimeout = 60\n[install]\n${line}\n`)).toThrow(
      /^pip\.conf: ".*" is not a setting that an image may give pip/,
    );
  });
});
