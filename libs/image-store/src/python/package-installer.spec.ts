import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { NODE_MARKS } from '#lib/config';
import type { PythonSettings } from '#lib/graph-configuration';
import { temporaryFolder } from '#lib/testing';
import { chooseInstaller } from './package-installer.js';

const SETTINGS: PythonSettings = {
  version: undefined,
  folders: ['.'],
  packages: [],
  keepsPip: false,
  installer: 'uv',
  pipConfigFile: undefined,
};

describe('chooseInstaller', () => {
  const before = process.env;
  const root = temporaryFolder();
  afterEach(() => {
    process.env = before;
  });

  /** The words that uv was started with. */
  async function wordsOf(environment: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const words = join(root, 'words');
    const bin = join(root, 'bin');
    mkdirSync(bin, { recursive: true });
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" > '${words}'; env > '${words}-environment'\n`;
    writeFileSync(join(bin, 'uv'), script, { mode: 0o755 });
    process.env = { PATH: `${bin}:/usr/bin:/bin`, XDG_CONFIG_DIRS: root, HOME: root, ...environment };
    const python = { path: '/usr/bin/python3', version: '3.12.0' };
    const installer = chooseInstaller(root, SETTINGS, python);
    await installer.install({
      venv: root,
      folder: root,
      lists: ['-r', 'x.txt'],
      builds: false,
      onLine: undefined,
    });
    return readFileSync(words, 'utf8').trim().split('\n');
  }

  it('keeps settings of the image from uv, and gives it those of the machine', async () => {
    writeFileSync(join(root, 'uv.toml'), 'index-url = "https://index.test/simple"');
    expect((await wordsOf({})).slice(0, 3)).toEqual(['--no-config', 'pip', 'install']);
    const own = join(root, '.config', 'uv', 'uv.toml');
    mkdirSync(join(root, '.config', 'uv'), { recursive: true });
    writeFileSync(own, '');
    expect((await wordsOf({})).slice(0, 4)).toEqual(['--no-config', '--config-file', own, 'pip']);
    expect((await wordsOf({ UV_CONFIG_FILE: '/etc/own.toml' })).slice(0, 3)).toEqual([
      '--no-config',
      '--config-file',
      '/etc/own.toml',
    ]);
  });

  it('hands on the marks of the node, and no other setting of the platform', async () => {
    const marks = Object.fromEntries(NODE_MARKS.map((name) => [name, '/here']));
    await wordsOf({ ...marks, AGENTPLANE_OTHER: 'x' });
    const environment = readFileSync(join(root, 'words-environment'), 'utf8').trim().split('\n');
    expect(environment.filter((line) => line.startsWith('AGENTPLANE')).toSorted()).toEqual(
      NODE_MARKS.map((name) => `${name}=/here`).toSorted(),
    );
  });
});
