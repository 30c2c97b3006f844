import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

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
