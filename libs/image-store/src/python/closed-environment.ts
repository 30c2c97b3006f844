import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TerminalError } from '#lib/errors';
import type { PythonSettings } from '#lib/graph-configuration';
import { REASON } from '#lib/resources';
import { removeTree } from '../partial-folder.js';
import { compileModules, mendScripts } from './compile-modules.js';
import { findPython, type Python } from './find-python.js';
import { OTHER_PYTHON_NOTE } from './install-python.js';

const INTERPRETER = /^python(3(\.\d+)?)?$/;
const LIBRARY = /^python(3\.\d{1,2})$/;

/**
 * Prepares a `.venv` of a build for copying: its modules are compiled, its commands find the interpreter
 * beside them, and the links out of it, to the interpreter, are removed. `linkInterpreter` adds them to the
 * copy.
 * @throws TerminalError when it does not exist, or it is for another Python than the graphs
 */
export async function closeEnvironment(folder: string, settings: PythonSettings): Promise<void> {
  const python = await pythonOf(folder, settings);
  const venv = join(folder, '.venv');
  await compileModules(python, venv);
  await mendScripts(venv);
  const bin = join(venv, 'bin');
  for (const name of (await readdir(bin)).filter((one) => INTERPRETER.test(one))) await rm(join(bin, name));
}

/**
 * Gives the `.venv` of an image from a build the interpreter of this machine. Its files are not run, and its
 * own settings of the interpreter do not count.
 * @returns the interpreter
 * @throws TerminalError as `closeEnvironment`, or when the machine has no such Python
 */
export async function linkInterpreter(folder: string, settings: PythonSettings): Promise<Python> {
  const python = await pythonOf(folder, settings);
  const [venv, bin] = [join(folder, '.venv'), join(folder, '.venv', 'bin')];
  if (!existsSync(bin)) await mkdir(bin);
  await chmod(bin, 0o755);
  for (const name of await readdir(bin)) if (INTERPRETER.test(name)) await removeTree(join(bin, name));
  await symlink(python.path, join(bin, 'python'));
  for (const name of ['python3', `python${minorOf(python.version)}`])
    await symlink('python', join(bin, name));
  const note = join(venv, 'pyvenv.cfg');
  await removeTree(note);
  const lines = [`home = ${dirname(python.path)}`, 'include-system-site-packages = false'];
  await writeFile(note, [...lines, `version = ${python.version}`, ''].join('\n'));
  // agents may be other users than the platform, whose umask may close it
  await chmod(note, 0o644);
  return python;
}

/** The Python of this machine that an environment is for: packages of another one cannot be imported. */
async function pythonOf(folder: string, { version }: PythonSettings): Promise<Python> {
  const names = await readdir(join(folder, '.venv', 'lib')).catch(() => []);
  const [minor] = names.flatMap((name) => LIBRARY.exec(name)?.[1] ?? []);
  if (minor === undefined)
    throw new TerminalError(
      REASON.buildRefused,
      'the graphs are Python, and the build left no environment in .venv beside langgraph.json: an install_command has to make one there, or leave it out and the packages of the lock file are installed',
    );
  // the lists of the agent did not allow the version that it names, or the machine lacks that one
  if (existsSync(join(folder, '.venv', OTHER_PYTHON_NOTE))) return await findPython(minor);
  if (version !== undefined && minorOf(version) !== minor)
    throw new TerminalError(
      REASON.buildRefused,
      `the build left packages for Python ${minor} in .venv, and langgraph.json asks for Python ${version}; let the install_command use that one`,
    );
  return await findPython(version ?? minor);
}

/** `3.12` of `3.12.4` */
function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}
