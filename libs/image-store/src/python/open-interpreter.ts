import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isOpenToAll } from '../install-user.js';
import { inPartial, moveInto } from '../partial-folder.js';
import type { Python } from './find-python.js';

/** Parts of an installation that nothing of an agent uses. */
const LEFT_OUT = /\/(site-packages|test|tests|idlelib|turtledemo|config-3[^/]*)$|\.a$/;

/**
 * An interpreter that the users of pods reach: the one that was found, or where it is in a folder of root alone, as version
 * managers keep theirs, a copy beside the packages.
 * @param shared keeps copies, one for each version
 */
export async function openInterpreter(python: Python, shared: string): Promise<Python> {
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
  if (!isRoot || isOpenToAll(python.path)) return python;
  const prefix = dirname(dirname(python.path));
  const target = join(shared, `python-${python.version}`);
  const path = join(target, 'bin', basename(python.path));
  if (existsSync(path)) return { ...python, path };
  // a whole system is no installation of Python
  if (!existsSync(join(prefix, 'lib', `python${/^\d+\.\d+/.exec(python.version)?.[0]}`)) || prefix === '/usr')
    return python;
  await mkdir(shared, { recursive: true, mode: 0o700 });
  await chmod(shared, 0o711);
  return await inPartial(shared, async (partial) => {
    const filter = (one: string): boolean => !LEFT_OUT.test(one.slice(prefix.length));
    await cp(prefix, partial, { recursive: true, verbatimSymlinks: true, filter });
    await leadToOwnLibrary(join(partial, 'bin', basename(path)), join(prefix, 'lib'));
    await promisify(execFile)('chmod', ['-R', 'go+rX', '--', partial]);
    await moveInto(partial, target);
    return { ...python, path };
  });
}

/** Has a program look for its library beside itself: the name of the folder in it is overwritten by a shorter one. */
async function leadToOwnLibrary(program: string, folder: string): Promise<void> {
  const code = await readFile(program);
  const own = '$ORIGIN/../lib';
  const at = code.indexOf(`\0${folder}\0`);
  if (at < 0 || folder.length < own.length) return;
  code.fill(0, at + 1, at + 1 + folder.length).write(own, at + 1, 'latin1');
  await writeFile(program, code);
}
