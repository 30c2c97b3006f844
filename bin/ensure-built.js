import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findPinnedNode } from './pinned-node.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'dist', '.built');

function newest(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  let latest = found.mtimeMs; // a folder's own time changes when a file in it goes away
  for (const entry of readdirSync(path)) latest = Math.max(latest, newest(join(path, entry)));
  return latest;
}

/**
 * Compiles apps/ and libs/ into dist/, and bundles programs of it, unless the last build is newer than every source.
 * The native TypeScript compiler does it in a second or two, so there is no watch mode to keep in step.
 * @returns {boolean} false when the compiler found errors (they are printed)
 */
export function ensureBuilt({ force = false } = {}) {
  if (!existsSync(join(root, 'apps')) && existsSync(stamp)) return true;
  const sources = ['apps', 'libs', 'bin/bundle.js', 'tsconfig.json', 'tsconfig.build.json', 'package.json'];
  const built = newest(stamp);
  if (!force && built > 0 && sources.every((path) => newest(join(root, path)) <= built)) return true;
  if (force) rmSync(join(root, 'dist'), { recursive: true, force: true });
  const started = Date.now();
  const compiler = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
  if (process.stderr.isTTY) process.stderr.write('Building …');
  const run = spawnSync(findPinnedNode(), [compiler, '-p', join(root, 'tsconfig.build.json')], {
    cwd: root,
    encoding: 'utf8',
  });
  if (process.stderr.isTTY) process.stderr.write('\r');
  if (run.status !== 0) {
    process.stderr.write(`The build failed:\n${run.stdout}${run.stderr}`);
    return false;
  }
  const bundling = spawnSync(findPinnedNode(), [join(root, 'bin', 'bundle.js')], {
    cwd: root,
    encoding: 'utf8',
  });
  if (bundling.status !== 0) {
    process.stderr.write(`The programs could not be bundled:\n${bundling.stdout}${bundling.stderr}`);
    return false;
  }
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, '');
  process.stderr.write(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
  return true;
}
