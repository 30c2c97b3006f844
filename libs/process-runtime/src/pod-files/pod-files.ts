import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { PodUser } from '../user/pod-user.js';

const MAX_MS = 10 * 60_000;

/**
 * Removes a folder that a pod wrote, in a process of its own with the rights of its owner: a process that
 * outlived its pod may put a link where a folder was just seen, and root would follow it. A path that is no
 * folder stays, and so may files of this process's own user.
 * @throws Error when something of another user is left
 */
async function removeAsOwner(folder: string): Promise<void> {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return;
  const { uid, gid } = found;
  const isOwn = uid === process.getuid?.();
  chmodSync(folder, 0o700); // its user may have shut the others out, and itself
  const script = 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"';
  if (!isEmpty(folder)) await run('/bin/sh', ['-c', script, folder], isOwn ? {} : { uid, gid });
  if (!isOwn) rmdirSync(folder); // the one thing in it that its parent's owner must do
}

/** Checks for emptiness without reading the whole folder: a pod may have left millions of files. */
function isEmpty(folder: string): boolean {
  const opened = opendirSync(folder);
  try {
    return opened.readSync() === null;
  } finally {
    opened.closeSync();
  }
}

function run(
  command: string,
  args: readonly string[],
  user: { readonly uid?: number; readonly gid?: number },
): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
      // processes of that user may stop it
      timeout: MAX_MS,
      killSignal: 'SIGKILL',
      ...user,
    });
    // it cannot remove the folder itself, and what it could not remove is found by the caller
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}

const WORK = 'work';
/** Volumes that begin empty, which the pod writes. */
const EMPTY = 'empty';
/** Volumes that the node writes, and the pod reads. */
const VOLUMES = 'volumes';

/** Record of a pod on disk, so that a restarted node finds its ports and its processes again. */
export interface PodRecord {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Container port → real port on loopback. */
  readonly ports: Readonly<Record<string, number>>;
}

/**
 * The folder of one pod: `pods/UID/`. It belongs to the node, also where pods have users of their own: these write what
 * is in `work/` and their termination messages, read their kubeconfig and their token, and cannot put a link in the way
 * of the node, which may be root.
 */
export class PodFiles {
  readonly folder: string;
  readonly #userOf: () => PodUser;

  /** @param user asked for when something is made for the pod */
  constructor(podsFolder: string, uid: string, user: () => PodUser) {
    this.folder = join(podsFolder, uid);
    this.#userOf = user;
  }

  get recordFile(): string {
    return join(this.folder, 'pod.json');
  }

  get kubeconfigFile(): string {
    return join(this.folder, 'kubeconfig');
  }

  get tokenFile(): string {
    return join(this.folder, 'token');
  }

  /** Working directory of programs that bring none. */
  get workingFolder(): string {
    return join(this.folder, WORK);
  }

  processFile(container: string): string {
    return join(this.folder, `${container}.process.json`);
  }

  logFolder(container: string): string {
    return join(this.folder, 'logs', container);
  }

  terminationMessageFile(container: string): string {
    return join(this.folder, `${container}.termination`);
  }

  get #user(): PodUser {
    return this.#userOf();
  }

  prepare(): void {
    mkdirSync(this.workingFolder, { recursive: true, mode: 0o700 });
    if (!this.#user.isOwn) return;
    chmodSync(this.folder, 0o711);
    giveTo(this.workingFolder, this.#user);
  }

  /** An empty file for the termination message of the next attempt. */
  prepareTerminationMessage(container: string): void {
    const file = this.terminationMessageFile(container);
    rmSync(file, { force: true });
    if (!this.#user.isOwn) return;
    writeFileSync(file, '', { mode: 0o600, flag: 'wx' });
    chownSync(file, this.#user.uid, this.#user.gid);
  }

  /** A file that the pod reads. */
  writeForPod(file: string, text: string): void {
    writeWhole(file, text, this.#user.isOwn ? this.#user.gid : undefined);
  }

  /** On which the root of a container with mounts is made, in a namespace of its own: here it stays empty. */
  get stageFolder(): string {
    const stage = join(this.folder, 'stage');
    mkdirSync(stage, { recursive: true, mode: 0o755 });
    return stage;
  }

  /** The folder of a volume that begins empty and lives as long as the pod. */
  emptyVolume(name: string): string {
    const all = join(this.folder, EMPTY);
    const folder = join(all, name);
    // an existing entry stays as the pod's user left it
    if (lstatSync(folder, { throwIfNoEntry: false })) return folder;
    mkdirSync(all, { recursive: true, mode: 0o711 });
    // all containers of the pod have one user, and other pods none of its files
    mkdirSync(folder, { mode: 0o700 });
    if (this.#user.isOwn) {
      chmodSync(all, 0o711);
      chownSync(folder, this.#user.uid, this.#user.gid);
    }
    return folder;
  }

  /** The folder of a volume with exactly these files. */
  writeVolume(
    name: string,
    files: ReadonlyMap<string, { readonly bytes: Buffer; readonly mode: number }>,
  ): string {
    const all = join(this.folder, VOLUMES);
    const folder = join(all, name);
    makeOpenFolders(all, name);
    chmodSync(all, this.#user.isOwn ? 0o750 : 0o700);
    if (this.#user.isOwn) chownSync(all, process.getuid?.() ?? 0, this.#user.gid);
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && !files.has(relative(folder, path))) rmSync(path, { force: true });
    }
    for (const [path, { bytes, mode }] of files) {
      const file = join(folder, path);
      makeOpenFolders(folder, dirname(path));
      const partial = `${file}.new`;
      rmSync(partial, { force: true });
      writeFileSync(partial, bytes, { mode: 0o600, flag: 'wx' });
      if (this.#user.isOwn) chownSync(partial, this.#user.uid, this.#user.gid);
      chmodSync(partial, mode);
      renameSync(partial, file);
    }
    return folder;
  }

  readRecord(): PodRecord | undefined {
    return readJson<PodRecord>(this.recordFile);
  }

  writeRecord(record: PodRecord): void {
    writeWhole(this.recordFile, `${JSON.stringify(record)}\n`);
  }

  remove(): Promise<void> {
    return removePodFolder(this.folder);
  }
}

/**
 * Removes the files of a pod, whichever user it ran as. A pod may have written hundreds of thousands of
 * files, e.g. a build: a process of its own removes them, since the node has one thread for all pods, and
 * often for the API server too.
 */
export async function removePodFolder(folder: string): Promise<void> {
  for (const path of [join(folder, WORK), ...entriesOf(join(folder, EMPTY))]) await removeAsOwner(path);
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Makes folders below `base` that any user can pass and list, whatever the umask of the platform closes. */
function makeOpenFolders(base: string, path: string): void {
  mkdirSync(base, { recursive: true });
  let folder = base;
  for (const name of path.split('/')) {
    folder = join(folder, name);
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o755);
  }
}

function entriesOf(folder: string): readonly string[] {
  if (!lstatSync(folder, { throwIfNoEntry: false })) return [];
  return readdirSync(folder).map((name) => join(folder, name));
}

/** A node that was started before pods had users of their own, or with other numbers, left files of another user. */
function giveTo(folder: string, user: { readonly uid: number; readonly gid: number }): void {
  if (lstatSync(folder).uid === user.uid) return;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    lchownSync(join(entry.parentPath, entry.name), user.uid, user.gid);
  lchownSync(folder, user.uid, user.gid);
}

/** `undefined` when the file is missing or was cut short by a crash. */
export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Readers see the old file or the new one; only its owner reads it, and the group that is named. */
export function writeWhole(file: string, text: string, gid?: number): void {
  const partial = `${file}.new`;
  // in place of the existing entry, which may be a link
  rmSync(partial, { force: true });
  writeFileSync(partial, text, { mode: 0o600, flag: 'wx' });
  if (gid !== undefined) {
    chownSync(partial, process.getuid?.() ?? 0, gid);
    chmodSync(partial, 0o640);
  }
  renameSync(partial, file);
}
