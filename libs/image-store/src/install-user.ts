import { execFile, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { accessSync, constants, statSync } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '#lib/config';
import { partialPath, removeTree } from './partial-folder.js';

const USUAL_FOLDERS = ['/usr/local/bin', '/usr/bin'];

/** Commands of a name, in the order of `PATH`. */
export function findCommands(name: string): readonly string[] {
  const { PATH = '' } = inheritedEnvironment(['PATH']);
  const folders = [...new Set([...PATH.split(delimiter), ...USUAL_FOLDERS])];
  return folders
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .filter(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The user whose rights an installation has where the platform is root. */
export interface InstallUser {
  /** Number of the user and of its group. */
  readonly uid: number;
  /** Its home, with its temporary files; removed after the installation. */
  readonly home: string;
}

/** Numbers above those of containers (systemd) and below those of pods. */
const [FIRST, LAST] = [1_880_000_000, 1_899_999_999];

/** True when users who own nothing on the way may execute a file, or pass a folder. */
export function isOpenToAll(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (dirname(at) === at) return true;
  }
}

/**
 * Runs an installation as a user of its own, whose number is not used otherwise: packages may run code of
 * many authors, which then reads no file of the platform or of the person who adds an image. The folders
 * belong to the user meanwhile, and to the platform again when it has succeeded.
 * @param programs programs that the installation runs, by path
 * @param install gets no user where the platform is not root, and where others cannot reach folders or programs: agents
 * run as the platform's user there too
 */
export async function asInstallUser(
  { folders, programs }: { readonly folders: readonly string[]; readonly programs: readonly string[] },
  install: (user: InstallUser | undefined) => Promise<void>,
): Promise<void> {
  const places = folders.map((folder) => dirname(folder));
  const [place] = places;
  const reached = [process.execPath, ...places, ...programs];
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
  if (!isRoot || place === undefined || !reached.every(isOpenToAll)) return await install(undefined);
  const uid = randomInt(FIRST, LAST);
  // not in the folder of all users: programs that run in it look for modules there, which agents could leave
  const home = partialPath(place);
  try {
    await mkdir(home, { mode: 0o700 });
    try {
      await chown(home, uid, uid);
    } catch (error) {
      // a container may know the small numbers alone
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
      return await install(undefined);
    }
    for (const folder of folders) await giveTree(folder, uid);
    await install({ uid, home });
    for (const folder of folders) {
      await giveTree(folder, 0);
      // packages may have opened their files to all: the agents of others run them
      await promisify(execFile)('chmod', ['-R', 'go-w', '--', folder]);
    }
  } finally {
    await removeTree(home);
  }
}

/** Links are given themselves, never what they lead to. */
async function giveTree(folder: string, uid: number): Promise<void> {
  await promisify(execFile)('chown', ['-hR', `${uid}:${uid}`, '--', folder]);
}

/** Kills what a program of the user left running: the signal reaches every process that it may signal, which are its own. */
export function endAll({ uid }: InstallUser): void {
  spawnSync('/bin/sh', ['-c', 'kill -KILL -1'], { uid, gid: uid, cwd: '/', stdio: 'ignore' });
}
