import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findPinnedNode } from './pinned-node.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'dist', '.built');

/** What tsconfig.build.json leaves out, a third of the files, and what Python keeps beside its sources. */
const NOT_BUILT = /^(testdata|__pycache__)$|\.(spec|long)\.tsx?$/;

function newest(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  const entries = readdirSync(path, { withFileTypes: true });
  // a folder's own time changes when a file in it goes away; also when Python makes its cache there
  let latest = entries.some(({ name }) => name === '__pycache__') ? 0 : found.mtimeMs;
  for (const entry of entries) {
    if (NOT_BUILT.test(entry.name)) continue;
    const at = `${path}/${entry.name}`;
    latest = Math.max(
      latest,
      entry.isDirectory() ? newest(at) : (statSync(at, { throwIfNoEntry: false })?.mtimeMs ?? 0),
    );
  }
  return latest;
}

/** Runs a script of the build; false when it failed, which is printed. */
function succeeds(words, failure) {
  const run = spawnSync(findPinnedNode(), words, { cwd: root, encoding: 'utf8' });
  if (run.status !== 0) process.stderr.write(`${failure}:\n${run.stdout}${run.stderr}`);
  return run.status === 0;
}

/**
 * Compiles apps/ and libs/ into dist/. Until they are bundled anew, programs load the modules.
 * @returns {boolean} false when the compiler found errors (they are printed)
 */
export function compile() {
  const compiler = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
  return succeeds([compiler, '-p', join(root, 'tsconfig.build.json')], 'The build failed');
}

/**
 * Compiles apps/ and libs/ into dist/, and bundles programs of it, unless the last build is newer than every source.
 * The native TypeScript compiler does it in a second or two.
 * @returns {boolean} false when the compiler found errors (they are printed)
 */
export function ensureBuilt({ force = false } = {}) {
  // a package and an image have what was compiled, and no sources
  if (!existsSync(join(root, 'tsconfig.build.json')) && existsSync(stamp)) return true;
  const sources = ['apps', 'libs', 'bin/bundle.js', 'tsconfig.json', 'tsconfig.build.json', 'package.json'];
  const stamped = newest(stamp);
  // a stamp of the future, from before the clock was set back, proves nothing
  const built = stamped > Date.now() ? 0 : stamped;
  if (!force && built > 0 && sources.every((path) => newest(join(root, path)) <= built)) return true;
  if (force) rmSync(join(root, 'dist'), { recursive: true, force: true });
  const started = Date.now();
  if (process.stderr.isTTY) process.stderr.write('Building …');
  const isCompiled = compile();
  if (process.stderr.isTTY) process.stderr.write('\r');
  if (!isCompiled) return false;
  if (!succeeds([join(root, 'bin', 'bundle.js')], 'The programs could not be bundled')) return false;
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, '');
  // what changed while this was built is newer than it
  utimesSync(stamp, started / 1000, started / 1000);
  process.stderr.write(`Built in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
  return true;
}
