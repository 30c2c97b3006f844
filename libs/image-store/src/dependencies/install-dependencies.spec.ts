import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import type { JsonObject } from '#lib/json';
import { systemClock } from '#lib/time';
import { installDependencies } from './install-dependencies.js';

const LOCKS = join(import.meta.dirname, '..', '..', 'testdata', 'locks');
const root = temporaryFolder();
const platformModules = join(root, 'platform', 'node_modules');
mkdirSync(join(platformModules, 'known'), { recursive: true });
writeFileSync(join(platformModules, 'known', 'package.json'), '{}');

let made = 0;
let images: string;
let installs: number;
beforeEach(() => {
  images = join(root, `images-${made++}`);
  installs = 0;
});

function imageOf(files: string | Readonly<Record<string, string>>): string {
  const folder = join(images, `image-${made++}`);
  mkdirSync(folder, { recursive: true });
  if (typeof files === 'string') cpSync(join(LOCKS, files), folder, { recursive: true });
  else for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

let notes: string[] = [];

async function install(folder: string): Promise<void> {
  const shared = join(images, 'dependencies');
  await installDependencies({
    folder,
    own: folder,
    shared,
    platformModules,
    clock: systemClock,
    onInstall: () => installs++,
    onNote: (note) => notes.push(note),
  });
}

const versionIn = (folder: string): unknown =>
  (
    JSON.parse(readFileSync(join(folder, 'node_modules/is-number/package.json'), 'utf8')) as {
      version: string;
    }
  ).version;

describe('installing the dependencies of an image', () => {
  it.each(['npm', 'pnpm', 'yarn', 'berry'])(
    'leaves out what the agent server replaces from %s',
    async (kind) => {
      notes = [];
      const folder = imageOf(kind);
      const gone = '"dependencies": { "@langchain/langgraph-api": "0.0.0-gone", ';
      const edit = (file: string, from: string | RegExp, to: string): void => {
        const path = join(folder, file);
        if (existsSync(path)) writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
      };
      edit('package.json', /"dependencies": ?\{/, gone);
      edit('package-lock.json', /"dependencies": ?\{/, gone);
      edit(
        'pnpm-lock.yaml',
        '    dependencies:\n',
        "    dependencies:\n      '@langchain/langgraph-api':\n        specifier: 0.0.0-gone\n        version: 0.0.0-gone\n",
      );
      await install(folder);
      expect(versionIn(folder)).toBe('7.0.0');
      expect(notes).toEqual(['left out, since the agent server does their work: @langchain/langgraph-api']);
    },
  );

  it('leaves out what the agent server replaces from packages for development', async () => {
    const folder = imageOf('npm');
    const added = { '@langchain/langgraph-cli': '0.0.0-gone' };
    const change = (file: string, edit: (document: JsonObject) => void): void => {
      const document = JSON.parse(readFileSync(join(folder, file), 'utf8')) as JsonObject;
      edit(document);
      writeFileSync(join(folder, file), JSON.stringify(document));
    };
    change('package.json', (manifest) => Object.assign(manifest['devDependencies'] as object, added));
    change('package-lock.json', ({ packages }) => {
      const places = packages as Record<string, JsonObject>;
      Object.assign(places['']?.['devDependencies'] as object, added);
      places['node_modules/@langchain/langgraph-cli'] = { version: '0.0.0-gone', dev: true };
    });
    await install(folder);
    expect(versionIn(folder)).toBe('7.0.0');
  });

  it.each(['npm', 'pnpm', 'yarn', 'berry'])(
    'takes those of a lock file of %s, without those of development',
    async (kind) => {
      const folder = imageOf(kind);
      await install(folder);
      expect(versionIn(folder)).toBe('7.0.0');
      expect(existsSync(join(folder, 'node_modules', 'is-odd'))).toBe(false);
      // agents may be other users than the platform
      const installed = dirname(realpathSync(join(folder, 'node_modules')));
      expect(statSync(installed).mode & 0o005).toBe(0o005);
      expect(statSync(dirname(installed)).mode & 0o001).toBe(0o001);
    },
  );

  it('keeps no token of a registry beside what it installed', async () => {
    const folder = imageOf('npm');
    writeFileSync(join(folder, '.npmrc'), '//registry.example/:_authToken=secret\n');
    await install(folder);
    expect(readdirSync(dirname(realpathSync(join(folder, 'node_modules'))))).toEqual(['node_modules']);
  });

  it('installs once for a lock file, whatever the code is', async () => {
    const first = imageOf('npm');
    const second = imageOf('npm');
    writeFileSync(join(second, 'agent.js'), 'edited');
    for (const folder of [first, second]) await install(folder);
    expect(installs).toBe(1);
    const [one, two] = [first, second].map((folder) => realpathSync(join(folder, 'node_modules')));
    expect(one).toBe(two);
    expect(readdirSync(join(images, 'dependencies'))).toHaveLength(1);
  });

  it('installs in the image when a script of its package may look at its files', async () => {
    const manifest = {
      name: 'x',
      version: '1.0.0',
      scripts: { postinstall: `node -e "fs.writeFileSync('ran','')"` },
    };
    const lock = { name: 'x', version: '1.0.0', lockfileVersion: 3, packages: { '': manifest } };
    const files = { 'package.json': JSON.stringify(manifest), 'package-lock.json': JSON.stringify(lock) };
    const folder = imageOf(files);
    await install(folder);
    expect(existsSync(join(folder, 'ran'))).toBe(true);
    expect(existsSync(join(images, 'dependencies'))).toBe(false);
  });

  it('links those of the platform when there is no lock file', async () => {
    const folder = imageOf({ 'package.json': '{"dependencies": {"known": "*"}}' });
    await install(folder);
    expect(realpathSync(join(folder, 'node_modules'))).toBe(realpathSync(platformModules));
    expect(installs).toBe(0);
  });

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    [
      'are missing',
      { 'package.json': '{"dependencies": {"known": "*", "nanoid": "*"}}' },
      /package\.json names nanoid, and there is no lock file/,
    ],
    ['are no JSON', { 'package.json': '{' }, /package\.json is not JSON/],
    [
      'do not fit their lock file',
      {
        'package.json': '{"name": "x", "dependencies": {"is-number": "6"}}',
        'package-lock.json': '{"lockfileVersion": 3}',
      },
      /npm could not install what package-lock\.json names \(exit code 1\): .*Missing: is-number@6\S* from lock file$/s,
    ],
  ])('refuses those that %s', async (_title, files, message) => {
    await expect(install(imageOf(files))).rejects.toThrow(message);
  });
});
