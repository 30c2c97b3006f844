import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { SpawnOptions } from 'node:child_process';
import { type Launch, mountCommand, type Mounts } from './launch.js';
import { lookAs } from './look-as.js';
import type { PodUser } from './pod-user.js';

/** Arguments of `spawn`. */
export interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'>;
}

/** Tools for restrictions that Node cannot set; each is used where the machine has it. */
export interface Tools {
  /** Program of util-linux: no process after it gets more rights by executing a file. */
  readonly setpriv: string | undefined;
  /** Program of coreutils: changes the folder as the user, not before it becomes one. */
  readonly env: string | undefined;
  /** Program of util-linux: gives a process mounts of its own. */
  readonly unshare?: string | undefined;
}

/** A `PATH` on which no command is: by its name, and only root could make it. */
const NOWHERE = '/nonexistent';

/**
 * Maximum folders of `PATH`, which a spec chooses: it is searched at each start and look, and the node has
 * one thread for all pods.
 */
const MAX_FOLDERS = 100;
const MAX_PATH_LENGTH = 4_096;
/** Maximum path parts of all of them together, with the links among them. */
const MAX_PARTS = 2_048;

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** The machine's own, never what `PATH` of a pod names. */
export function findTools(): Tools {
  if (process.platform !== 'linux') return { setpriv: undefined, env: undefined };
  return {
    setpriv: findIn(FOLDERS, 'setpriv'),
    env: findIn(FOLDERS, 'env'),
    unshare: findIn(FOLDERS, 'unshare'),
  };
}

/**
 * Arguments that start a process as the user of its pod. Node enters the working folder before it becomes the
 * user, so that it would enter a folder named by the spec with the rights of root, past all that is closed
 * above it: `env` does it instead.
 */
export function spawnRequest(launch: Launch, tools: Tools): SpawnRequest {
  const { command, args, folder, environment, user, isFolderNamed, noNewPrivileges } = launch;
  if (launch.mounts) return mountedRequest(launch, launch.mounts, tools);
  const searched = searchedFolders(environment.PATH ?? '');
  const isMissing = findCommand(command, searched, folder, user) === undefined;
  const entersFolder = user.isOwn && isFolderNamed;
  const words = [
    ...((user.isOwn || noNewPrivileges) && tools.setpriv ? [tools.setpriv, '--no-new-privs', '--'] : []),
    ...(entersFolder && tools.env ? [tools.env, `--chdir=${folder}`] : []),
  ];
  // started without the tools, so nothing may be found that appears only now: a bare name, and nowhere to look for it
  const [first = command, ...rest] = isMissing ? [basename(command)] : [...words, command, ...args];
  return {
    command: first,
    args: rest,
    options: {
      cwd: entersFolder ? '/' : folder,
      env: isMissing ? { ...environment, PATH: NOWHERE } : environment,
      ...(user.isOwn ? { uid: user.uid, gid: user.gid } : {}),
    },
  };
}

/**
 * Request with mounts of its own: the command may be in one, so it is looked up from within, as the pod's
 * user.
 */
function mountedRequest(launch: Launch, { stage, steps }: Mounts, tools: Tools): SpawnRequest {
  const { command, args, folder, environment, user, noNewPrivileges } = launch;
  const { uid = 0, gid = 0 } = user;
  const [first = '', ...rest] = [
    ...((user.isOwn || noNewPrivileges) && tools.setpriv ? [tools.setpriv, '--no-new-privs', '--'] : []),
    ...mountCommand(tools.unshare ?? 'unshare'),
    stage,
    String(uid),
    String(gid),
    folder,
    ...steps,
    '--',
    command,
    ...args,
  ];
  return {
    command: first,
    args: rest,
    options: { cwd: '/', env: environment, ...(user.isOwn ? { uid, gid } : {}) },
  };
}

/** Reason why a process could not be started: the error of `spawn` names the tool before the command. */
export function startFailure(error: NodeJS.ErrnoException, { command }: Launch): string {
  return error.code === undefined ? error.message : `spawn ${command} ${error.code}`;
}

/** Whole ones: a part of a name is another folder. */
function searchedFolders(path: string): readonly string[] {
  const cut = path.slice(0, MAX_PATH_LENGTH + 1);
  const whole = cut.length > MAX_PATH_LENGTH ? cut.slice(0, Math.max(0, cut.lastIndexOf(':'))) : cut;
  return whole.split(':', MAX_FOLDERS);
}

/** A command in a folder that is closed to its user counts as found: the kernel answers the user, who learns nothing. */
function findCommand(
  command: string,
  searched: readonly string[],
  folder: string,
  user: PodUser,
): string | undefined {
  const budget = { left: MAX_PARTS };
  const isKept = (file: string): boolean => !user.isOwn || lookAs(file, user, budget).kind === 'found';
  if (command.includes('/')) {
    const file = resolve(folder, command);
    const isMissing = user.isOwn ? lookAs(file, user).kind === 'missing' : !existsSync(file);
    return isMissing ? undefined : file;
  }
  // an empty one is the folder that the process begins in
  return searched
    .map((one) => join(resolve(folder, one), command))
    .find((file) => isKept(file) && isExecutable(file));
}

function findIn(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
