import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { requireWheels, takesFromFolder } from './require-wheels.js';

describe('requireWheels', () => {
  const image = temporaryFolder();
  beforeAll(() => {
    mkdirSync(join(image, 'libs', 'folder.whl'), { recursive: true });
    writeFileSync(join(image, 'libs', 'small-1.0-py3-none-any.whl'), '');
    writeFileSync(join(image, 'evil.zip'), '');
  });

  it.each([
    'small',
    'small==1.0',
    'small[a,b] >=1.0, <2.*,!=1.5 ; python_version > "3" and os_name != "nt"',
    'small (>=1.0)',
    'small~=1.0+cu118;extra == "x"',
    'zope.interface>=5',
    `small==1.0 --hash=sha256:${'0'.repeat(64)} --hash sha256:${'1'.repeat(64)}`,
    `small @ https://x.test/small-1.0-py3-none-any.whl#sha256=0 --hash=sha256:${'0'.repeat(64)}`,
    'https://x.test/small-1.0-py3-none-any.whl?token=x',
    'torch @ https://x.test/torch-2.0%2Bcpu-cp311-cp311-linux_x86_64.whl',
    './libs/small-1.0-py3-none-any.whl',
    'libs/small-1.0-py3-none-any.whl',
    '-i https://index.test/simple --extra-index-url=https://b.test/simple --trusted-host b.test',
    '--find-links ./wheels',
    '-f wheels',
    '--pre',
    '--only-binary=:all:',
    '--only-binary numpy,scipy',
  ])('takes %j', (line) => {
    for (const builds of [false, true])
      expect(() => requireWheels(image, 'requirements.txt', line, builds)).not.toThrow();
  });

  it.each([
    'x @ https://x.test/x.tar.gz',
    'https://x.test/x.tar.gz',
    'https://x.test/x.tar.gz?y=.whl',
    'https://x.test/x.tar.gz#y.whl',
    'https://x.test/.whl',
    'https://x.test/x.tar.gz%2F.whl',
    'x @ git+https://x.test/x.whl',
    'git+https://x.test/x',
    'file:///tmp/x.whl',
    'libs/x',
    'libs/folder.whl',
    'libs/missing.whl',
    'evil.zip',
    'evil.zip[extra]',
    'evil==1.zip',
    '--edit=./x',
    '-e ./x/y',
    '--no-bin=:all:',
    '--no-binary :all:',
    '--only-binary=:none:',
    '--only-binary a,:none:',
    '--req=other.txt',
    '--pre --no-bin=:all:',
    '--index-url "https://a --no-binary :all:"',
    '--find-links --no-binary',
    'small --config-settings=a=b',
    'small ; python_version > "3" --global-option=x',
    'small \\',
  ])('refuses %j', (line) => {
    expect(() => requireWheels(image, 'requirements.txt', line, false)).toThrow(
      /^requirements\.txt: ".*" is built from sources, or may be.*--build-packages$/,
    );
    expect(() => requireWheels(image, 'requirements.txt', line, true)).not.toThrow();
  });

  it.each(['\n', '\r', '\v', '\f', '\u001c', '\u0085', '\u2028', '\u2029'])(
    'refuses the line break %j everywhere',
    (end) => {
      for (const builds of [false, true])
        expect(() => requireWheels(image, 'uv.lock', `a==1${end}-e git+https://x.test/x`, builds)).toThrow(
          / has a control character$/,
        );
    },
  );

  it('refuses variables, which are those of the platform', () => {
    const line = '--index-url https://x.test/${PIP_INDEX_URL}';
    for (const builds of [false, true])
      expect(() => requireWheels(image, 'requirements.txt', line, builds)).toThrow(/names a variable/);
  });
});

describe('takesFromFolder', () => {
  it.each([
    './libs/x.whl',
    'libs/x.whl',
    'x.whl',
    'x.zip',
    'libs/x',
    '/x',
    'x @ ./x.whl',
    'x @ file:///x.whl',
    '-f wheels',
    '-fwheels',
    '--find-links=wheels',
  ])('knows %j', (line) => {
    expect(takesFromFolder(['small', line], '')).toBe(true);
  });

  it.each([
    'small==1.0',
    'small @ https://x.test/x.whl',
    'https://x.test/x.whl',
    '-f https://x.test',
    '--find-links  https://x.test',
    '-fhttps://x.test',
    '-i https://x.test/simple',
  ])('lets images share %j', (line) => {
    expect(takesFromFolder(['small', line], '[global]\nindex-url = https://x.test')).toBe(false);
  });

  it('knows a folder that settings of pip name', () => {
    expect(takesFromFolder(['small'], '[global]\nfind_links = ./wheels')).toBe(true);
  });
});
