import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The oldest Node that has everything this project uses: native zstd and require(esm). */
const OLDEST_MAJOR = 24;

/**
 * The Node that every program of this repository runs on: the binary that npm installed for this platform
 * (locked with its integrity), else the Node that runs this file when it is new enough.
 * @returns {string} absolute path of a node executable
 */
export function findPinnedNode() {
  const packageName = `node-${process.platform}-${process.arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
    const binary = join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    if (existsSync(binary)) return binary;
  } catch {
    // not installed for this platform: fall through to the machine's own Node
  }
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_MAJOR) return process.execPath;
  process.stderr.write(
    `Node ${process.versions.node} is too old and the package ${packageName} is not installed.\n` +
      `Install Node ${OLDEST_MAJOR} or newer; on Linux and on macOS with Intel npm brings it, unless optional packages are left out.\n`,
  );
  process.exit(1);
}
