import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { TerminalError } from '#lib/errors';
import type { PythonSettings } from '#lib/graph-configuration';
import type { Clock } from '#lib/time';
import { endOfOutput, runProgram } from '../dependencies/run-program.js';
import { hasPackages } from '../dependencies/shared-packages.js';
import { asInstallUser, type InstallUser } from '../install-user.js';
import { inPartial, moveInto } from '../partial-folder.js';
import { compileModules, mendScripts } from './compile-modules.js';
import { findPython, listPythons, type Python } from './find-python.js';
import { chooseInstaller, findPip, type PackageInstaller } from './package-installer.js';
import { openInterpreter } from './open-interpreter.js';
import { type FoundPackages, OTHER_PYTHON, pythonPackages } from './python-packages.js';
import { takesFromFolder } from './require-wheels.js';

/** File of an environment whose Python is not the one that its agent names, and why. */
export const OTHER_PYTHON_NOTE = 'other-python.txt';

/** Metadata of installed packages, which an installer reads. */
const METADATA = /\.(dist|egg)-info$/;

/**
 * Does something with an environment while its packages are listed in it and their code is not there: whatever starts the
 * interpreter of an environment runs its `.pth` files, and an installer imports modules that it may find.
 * @throws Error when a build made a link of one of its folders: files of the machine would be moved
 */
export async function withoutCode(venv: string, work: () => Promise<void>): Promise<void> {
  const aside = join(venv, '.code');
  const folders: (readonly [string, string])[] = [];
  for (const version of await readdir(join(venv, 'lib')).catch(() => []))
    folders.push([join('lib', version, 'site-packages'), join(aside, version)]);
  await mkdir(aside);
  const root = await realpath(venv);
  for (const [packages, kept] of folders) {
    if ((await realpath(join(venv, packages))) !== join(root, packages))
      throw new Error(`${join(venv, packages)} is a link that a package made; remove that package`);
    await mkdir(kept);
    for (const name of await readdir(join(venv, packages)))
      if (!METADATA.test(name)) await rename(join(venv, packages, name), join(kept, name));
  }
  await work();
  for (const [packages, kept] of folders) await putBack(kept, join(venv, packages));
  await rm(aside, { recursive: true });
}

/** Folders may be shared by packages (namespaces); a file that was installed since is the newer one. */
async function putBack(kept: string, packages: string): Promise<void> {
  for (const name of await readdir(kept)) {
    const [from, to] = [join(kept, name), join(packages, name)];
    const there = await lstat(to).catch(() => undefined);
    if (!there) await rename(from, to);
    else if (there.isDirectory() && (await lstat(from)).isDirectory()) await putBack(from, to);
  }
}

export interface PythonOptions {
  /** Folder of the agent, with its `langgraph.json`. */
  readonly folder: string;
  readonly settings: PythonSettings;
  /** True when packages without a wheel are built, which runs code of their authors. */
  readonly builds: boolean;
  /** Called before an installation begins, which may take minutes. */
  readonly onInstall?: (() => void) | undefined;
  /** Gets what the installer says. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Gets a sentence for people about what was installed otherwise than the agent asks. */
  readonly onNote?: ((note: string) => void) | undefined;
}

export interface SharedPythonOptions extends PythonOptions {
  /** The folder that holds nothing but the agent, or the agent itself. */
  readonly own: string;
  /** Keeps what was installed, for images that ask for the same. */
  readonly shared: string;
  readonly clock: Clock;
}

/** Parts from which an environment is made. */
interface Found {
  readonly python: Python;
  readonly installer: PackageInstaller;
  readonly packages: FoundPackages;
  /** Why this Python, where the agent names another; undefined where it does not. */
  readonly otherPython?: string;
}

/**
 * The Python that `python_version` names, or the nearest one that the lists of the agent allow: a version that the machine
 * lacks, or that a lock was not made for, is a wish of its author.
 * @param tools where a pip is made, if the machine has none
 */
async function look(options: PythonOptions, tools: string): Promise<Found> {
  const { version } = options.settings;
  let obstacle: TerminalError;
  try {
    return told(options, await lookWith(await findPython(version), options, tools));
  } catch (error) {
    const isOfPython =
      error instanceof TerminalError && (error.reason === OTHER_PYTHON || error.reason === 'PythonMissing');
    if (!isOfPython) throw error;
    obstacle = error;
  }
  for (const python of await listPythons(version ?? '3.12')) {
    const found = await lookWith(python, options, tools).catch((error: unknown) => {
      if (!(error instanceof TerminalError) || error.reason !== OTHER_PYTHON) throw error;
      return undefined;
    });
    const [range] = found?.packages.ranges ?? [];
    if (!found || range === undefined) continue;
    const why = obstacle.reason === 'PythonMissing' ? ', which this machine does not have' : '';
    const asked =
      version === undefined
        ? 'the first Python of this machine does not fit'
        : `"python_version" of langgraph.json asks for ${version}${why}`;
    return told(options, {
      ...found,
      otherPython: `${asked}: Python ${python.version} is used, which ${range} allows`,
    });
  }
  throw obstacle;
}

function told({ onNote }: PythonOptions, found: Found): Found {
  for (const note of [
    ...found.packages.notes,
    ...(found.otherPython === undefined ? [] : [found.otherPython]),
  ])
    onNote?.(note);
  return found;
}

async function lookWith(python: Python, options: PythonOptions, tools: string): Promise<Found> {
  const { folder, settings, builds } = options;
  const reader = await findPip(python, tools);
  const installer = chooseInstaller(folder, settings, reader);
  return { python, installer, packages: await pythonPackages(folder, settings, { python, reader, builds }) };
}

function keyOf(options: PythonOptions, { python, packages }: Found): string {
  const { folder, settings, builds } = options;
  const { pipConfigFile: file } = settings;
  const { locked, open, constraints } = packages;
  const lists = { locked, open, constraints };
  const config = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
  const hash = createHash('sha256').update(
    JSON.stringify([
      python.path,
      /^\d+\.\d+/.exec(python.version)?.[0],
      process.platform,
      process.arch,
      lists,
      builds,
      settings.keepsPip,
      config,
      // the name of a partial image: another each time
      takesFromFolder([...locked, ...open, ...constraints], config) ? folder : undefined,
    ]),
  );
  return hash.digest('hex');
}

async function makeVenv(python: Python, venv: string, user?: InstallUser): Promise<void> {
  const { code, output } = await runProgram({
    command: python.path,
    args: ['-I', '-m', 'venv', '--without-pip', venv],
    folder: '/',
    user,
    environment: inheritedEnvironment(['PATH', 'HOME', 'TMPDIR']),
  });
  if (code !== 0)
    throw new TerminalError(
      'PythonIncomplete',
      `${python.path} makes no virtual environment: ${endOfOutput(output)}; install its venv module (Debian: apt-get install python3-venv)`,
    );
}

/** @param lists a folder for the installer's input: lines may have the password of an index */
async function fill(
  { venv, lists }: { readonly venv: string; readonly lists: string },
  options: PythonOptions,
  { packages, installer }: Found,
  user?: InstallUser,
): Promise<void> {
  const { folder, settings, builds, onLine } = options;
  const list = async (name: string, lines: readonly string[]): Promise<string> => {
    const path = join(lists, name);
    await writeFile(path, lines.map((line) => `${line}\n`).join(''));
    return path;
  };
  const install = (...words: readonly string[]): Promise<void> =>
    installer.install({ venv, folder, lists: words, builds, onLine, user });
  const { locked, open, constraints } = packages;
  if (locked.length > 0) await install('--no-deps', '-r', await list('locked.txt', locked));
  const pinned = locked
    .map((line) => line.replace(/\s+--hash.*$/, ''))
    .filter((line) => /^[^@]+==/.test(line));
  const added = settings.keepsPip ? [...open, 'pip'] : open;
  if (added.length === 0) return;
  const limits = [...constraints, ...pinned];
  const limited = limits.length > 0 ? ['-c', await list('constraints.txt', limits)] : [];
  const more = ['-r', await list('requirements.txt', added)];
  await (locked.length > 0
    ? withoutCode(venv, () => install(...limited, ...more))
    : install(...limited, ...more));
}

/** Makes an environment; its scripts and modules are as the installer left them. */
async function make(
  { venv, lists }: { readonly venv: string; readonly lists: string },
  options: PythonOptions,
  found: Found,
  user?: InstallUser,
): Promise<void> {
  try {
    await makeVenv(found.python, venv, user);
    await mkdir(lists, { mode: 0o750 });
    // read by the user of the installation, never written: the platform writes here while packages may run code
    await chown(lists, process.getuid?.() ?? 0, user?.uid ?? process.getgid?.() ?? 0);
    await fill({ venv, lists }, options, found, user);
  } finally {
    await rm(lists, { recursive: true, force: true });
  }
}

/** Installs beside the images, once for each list; answers the folder that is the environment. */
async function installShared(options: SharedPythonOptions): Promise<string> {
  const { shared } = options;
  const looked = await look(options, shared);
  const found = { ...looked, python: await openInterpreter(looked.python, shared) };
  const target = join(shared, keyOf(options, found));
  if (await hasPackages(target, shared, options.clock)) return target;
  options.onInstall?.();
  return await inPartial(shared, async (partial) => {
    await mkdir(partial, { recursive: true, mode: 0o700 });
    // agents may be other users than the platform
    await chmod(shared, 0o711);
    await chmod(partial, 0o755);
    const { python, installer } = found;
    const use = { folders: [options.own, partial], programs: [python.path, installer.program] };
    await asInstallUser(use, async (user) => {
      await make({ venv: partial, lists: `${partial}-lists` }, options, found, user);
      await compileModules(python, partial, user);
    });
    await mendScripts(partial);
    await moveInto(partial, target); // another import of the same list may have been faster
    return target;
  });
}

/** True when the environment of an image has lost its interpreter, as when Python was removed or moved. */
export async function hasLostPython(image: string): Promise<boolean> {
  const isThere = await lstat(join(image, '.venv')).then(
    () => true,
    () => false,
  );
  return isThere && !existsSync(join(image, '.venv', 'bin', 'python'));
}

/**
 * Gives an image its `.venv`: what `dependencies` of `langgraph.json` lists, for the Python that it asks for. Installed
 * once for each list, so that an edit of the code installs nothing again.
 * @throws WaitingError when the package index is unavailable, TerminalError with the end of the output when the packages cannot be installed, or no Python fits
 */
export async function installPython(options: SharedPythonOptions): Promise<void> {
  const { folder } = options;
  const installed = await installShared(options);
  const link = join(folder, '.venv');
  const made = `${link}-${randomBytes(4).toString('hex')}`;
  // relative: a data folder may be moved
  await symlink(relative(dirname(link), installed), made, 'dir');
  await rename(made, link);
}

/**
 * Gives a folder a `.venv` of its own, as `installPython` does, with nothing that another folder has. It cannot be taken to
 * another place before `closeEnvironment`.
 * @param tools a folder for temporary files
 * @throws as `installPython`
 */
export async function installOwnPython(options: PythonOptions, tools: string): Promise<void> {
  const venv = join(options.folder, '.venv');
  await rm(venv, { recursive: true, force: true });
  const found = await look(options, tools);
  await mkdir(tools, { recursive: true, mode: 0o700 });
  options.onInstall?.();
  await make({ venv, lists: join(tools, 'lists') }, options, found);
  if (found.otherPython !== undefined)
    await writeFile(join(venv, OTHER_PYTHON_NOTE), `${found.otherPython}\n`);
}
