import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { itLong, temporaryFolder } from '#lib/testing';

const NEST = join('node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
/** Its compiler is the slow one: half a minute on a busy machine. */
const COMPILES_MS = 240_000;

interface NestConfig {
  readonly projects: Readonly<Record<string, { readonly sourceRoot: string; readonly entryFile: string }>>;
}

interface BuildInformation {
  readonly version: string;
}

/** What a build needs. */
const SOURCES = ['apps', 'bin', 'crds', 'libs', 'nest-cli.json', 'package.json'];
const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.nest.json'];

describe('nest-cli.json', () => {
  // it writes for a minute into the folder that the programs of other tests start from
  const folder = temporaryFolder();
  const nest = (...words: readonly string[]) =>
    spawnSync(process.execPath, [NEST, ...words], { cwd: folder, encoding: 'utf8', timeout: COMPILES_MS });

  beforeAll(() => {
    for (const name of [...SOURCES, ...SETTINGS]) cpSync(name, join(folder, name), { recursive: true });
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  });

  const { projects } = JSON.parse(readFileSync('nest-cli.json', 'utf8')) as NestConfig;

  it('names every app with its entry file', () => {
    expect(Object.keys(projects).sort()).toEqual(readdirSync('apps').sort());
    for (const { sourceRoot, entryFile } of Object.values(projects)) {
      const files = [`${entryFile}.ts`, `${entryFile}.tsx`].map((name) => join(sourceRoot, name));
      expect(files.filter((file) => existsSync(file))).toHaveLength(1);
    }
  });

  it('lets the Nest CLI build and start a program, which finds the libraries and ends by itself', () => {
    const { status, stdout, stderr } = nest('start', 'cli', '--', '--help');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('Usage: agentplane');
  });

  itLong('hands the configuration of the environment to a program of the platform', () => {
    const { status, stderr } = nest('start', 'controller');
    expect(status).toBe(2);
    expect(stderr).toContain('AGENTPLANE_DATABASE_URI is missing');
  });

  itLong(
    'leaves build information that the builder of the house does not trust, so that it compiles anew',
    () => {
      // were it trusted, a source that was changed, built by Nest and changed back would keep its old output
      const { version } = JSON.parse(
        readFileSync(join(folder, 'dist', '.tsbuildinfo'), 'utf8'),
      ) as BuildInformation;
      const native = readFileSync(join('node_modules', 'typescript-native', 'package.json'), 'utf8');
      expect(version).not.toBe((JSON.parse(native) as BuildInformation).version);
      execFileSync(process.execPath, ['bin/build.js'], { cwd: folder });
    },
  );
});
