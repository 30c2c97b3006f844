import { readdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { runProgram } from '../dependencies/run-program.js';
import type { InstallUser } from '../install-user.js';
import type { Python } from './find-python.js';

/** Starts the interpreter beside the script: one line for a shell, and a text for Python. */
const BESIDE = `#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")/python" "$0" "$@"
' '''
`;

/** Frees the commands of an environment from the path in which it was made: it is moved, and the data folder may be. */
export async function mendScripts(venv: string): Promise<void> {
  const bin = join(venv, 'bin');
  for (const entry of await readdir(bin, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(bin, entry.name);
    const text = await readFile(path, 'latin1');
    const [first = ''] = text.split('\n', 1);
    if (!first.startsWith(`#!${bin}/python`)) continue;
    await writeFile(path, BESIDE + text.slice(first.length + 1), 'latin1');
  }
}

/** Each takes memory, of which a build has little. */
const MOST_AT_ONCE = 4;

/**
 * Compiles the modules of an environment: agents may not write there. The compiled files are valid whatever
 * the times of the sources, which a copy does not keep. Uses the interpreter itself: that of the environment
 * would run `.pth` files of packages.
 * @throws Error when the interpreter was killed: agents would start slowly each time
 */
export async function compileModules(python: Python, venv: string, user?: InstallUser): Promise<void> {
  const jobs = String(Math.min(MOST_AT_ONCE, availableParallelism()));
  const kind = ['--invalidation-mode', 'unchecked-hash'];
  const { code } = await runProgram({
    command: python.path,
    args: ['-I', '-m', 'compileall', '-q', '-f', '-j', jobs, ...kind, join(venv, 'lib')],
    folder: '/',
    user,
    environment: inheritedEnvironment(['PATH', 'HOME', 'TMPDIR']),
  });
  // 1 is for what is no Python of this version, such as a template, which stays as it is
  if (code === null)
    throw new Error(
      `compiling the modules of ${venv} failed: ${python.path} was killed; check the memory of this machine, and repeat`,
    );
}
