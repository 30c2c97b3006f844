import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { openImageStore } from './image-store.js';
import { isOpenToAll } from './install-user.js';
import { findPython } from './python/find-python.js';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

/** Writes what it can see, opens the files of the image to all users, and leaves a process behind. */
const SCRIPT = `
const { spawn } = require('node:child_process');
const fs = require('node:fs');
let secret = 'read';
try { fs.readFileSync(process.env.npm_package_config_secret); } catch ({ code }) { secret = code; }
const left = spawn('sleep', ['1000'], { detached: true, stdio: 'inherit' });
left.unref();
const { HOME, npm_config_userconfig } = process.env;
for (const path of ['.', 'agent.js']) fs.chmodSync(path, 0o777);
fs.writeFileSync('seen.json', JSON.stringify({ uid: process.getuid(), secret, HOME, npm_config_userconfig, left: left.pid }));
`;

(isRoot ? describe : describe.skip)('an installation by root', () => {
  const root = temporaryFolder();
  const secret = join(root, 'secret');
  beforeAll(() => {
    chmodSync(root, 0o711);
    writeFileSync(secret, 'x', { mode: 0o600 });
    mkdirSync(join(root, 'images'), { mode: 0o711 });
  });

  function agent(name: string): string {
    const folder = join(root, name);
    mkdirSync(folder);
    const manifest = {
      name,
      version: '1.0.0',
      scripts: { postinstall: 'node look.cjs' },
      config: { secret },
    };
    const files = {
      'langgraph.json': JSON.stringify({ graphs: { a: './agent.js:graph' } }),
      'agent.js': 'export const graph = 1;',
      'look.cjs': SCRIPT,
      'package.json': JSON.stringify(manifest),
      'package-lock.json': JSON.stringify({ name, lockfileVersion: 3, packages: { '': manifest } }),
    };
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
    return folder;
  }

  const ownersIn = (folder: string): ReadonlySet<number> =>
    new Set(execFileSync('find', [folder, '-printf', '%U\n']).toString().trim().split('\n').map(Number));
  const writableIn = (folder: string): string =>
    execFileSync('find', [folder, '-perm', '/022', '!', '-type', 'l']).toString();

  it('builds packages of Python as that user', async () => {
    const python = await findPython(undefined);
    if (!isOpenToAll(python.path)) return;
    const folder = join(root, 'python');
    const wheels = join(root, 'wheels');
    mkdirSync(folder);
    const made = join(import.meta.dirname, '..', 'testdata', 'python', 'make-wheels.py');
    execFileSync(python.path, [made, wheels, 'langgraph==1.0', 'seen==1.0']);
    const backend = `
import os, shutil, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "seen-1.0-py3-none-any.whl"
    shutil.copy(${JSON.stringify(wheels)} + "/" + name, folder)
    with zipfile.ZipFile(folder + "/" + name, "a") as wheel:
        wheel.writestr("seen/user.txt", str(os.getuid()) + " " + str(os.access(${JSON.stringify(secret)}, os.R_OK)))
    return name
`;
    const files = {
      'langgraph.json': JSON.stringify({ dependencies: ['.'], graphs: { a: './agent.py:graph' } }),
      'agent.py': 'graph = 1',
      'requirements.txt': `--no-index\n--find-links ${wheels}\nseen @ file://${folder}/source.tar.gz\n`,
      'source/pyproject.toml':
        '[project]\nname = "seen"\nversion = "1.0"\n[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
      'source/backend.py': backend,
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    execFileSync('tar', ['czf', join(folder, 'source.tar.gz'), '-C', folder, 'source']);
    const store = openImageStore({ folder: join(root, 'images'), installation: root });
    const { reference } = await store.import('python', folder, { builds: true });
    const image = (await store.resolve(reference, { namespace: 'ws', gid: undefined }))?.folder ?? '';
    const [seen = ''] = execFileSync('find', [join(image, '.venv/'), '-name', 'user.txt'])
      .toString()
      .split('\n');
    expect(readFileSync(seen, 'utf8')).toMatch(/^18\d{8} False$/);
    expect([...ownersIn(join(root, 'images'))]).toEqual([0]);
  });

  it.each([
    ['the machine', undefined],
    ['a workspace', ['ws']],
  ])(
    'runs scripts of packages as a user without files or processes, for an image of %s',
    async (_name, namespaces) => {
      const name = namespaces ? 'closed' : 'open';
      const store = openImageStore({ folder: join(root, 'images'), installation: root });
      const { reference } = await store.import(name, agent(name), namespaces ? { namespaces } : {});
      const image = (await store.resolve(reference, { namespace: 'ws', gid: undefined }))?.folder ?? '';
      const seen = JSON.parse(readFileSync(join(image, 'seen.json'), 'utf8')) as {
        uid: number;
        secret: string;
        HOME: string;
        left: number;
      };
      expect(seen).toMatchObject({ uid: expect.any(Number), secret: 'EACCES' });
      expect(seen.uid).toBeGreaterThan(1_000_000);
      // in the folder of all users, agents could leave modules above it
      expect(dirname(seen.HOME)).toBe(join(root, 'images'));
      expect(existsSync(seen.HOME)).toBe(false);
      expect(existsSync(`/proc/${seen.left}/exe`)).toBe(false);
      expect([...ownersIn(join(root, 'images'))]).toEqual([0]);
      expect(writableIn(image)).toBe('');
      expect(lstatSync(image).mode & 0o777).toBe(0o755);
      expect(readdirSync(join(root, 'images')).filter((one) => one.startsWith('.partial'))).toEqual([]);
    },
  );
});
