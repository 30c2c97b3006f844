import { cpSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '#lib/testing';
import { repository } from '../support/platform.js';

describe('ensureBuilt', () => {
  const root = temporaryFolder();
  const setTime = (path: string, seconds: number): void => utimesSync(path, seconds, seconds);

  it('does not build again for the caches that Python writes beside its sources', async () => {
    cpSync(join(repository, 'bin'), join(root, 'bin'), { recursive: true });
    for (const folder of ['apps', 'dist', 'libs/worker/__pycache__'])
      mkdirSync(join(root, folder), { recursive: true });
    const files = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'libs/worker/main.py'];
    for (const file of [...files, 'dist/.built', 'libs/worker/__pycache__/main.pyc'])
      writeFileSync(join(root, file), '{ "type": "module" }');
    for (const path of [...files, 'apps', 'libs', 'bin/bundle.js']) setTime(join(root, path), 1_000);
    setTime(join(root, 'dist', '.built'), 2_000);
    const { ensureBuilt } = (await import(pathToFileURL(join(root, 'bin', 'ensure-built.js')).href)) as {
      ensureBuilt: () => boolean;
    };
    expect(ensureBuilt()).toBe(true);
    setTime(join(root, 'libs', 'worker', 'main.py'), 3_000);
    // a changed source is built, for which there is no compiler here
    expect(ensureBuilt()).toBe(false);
  });
});
