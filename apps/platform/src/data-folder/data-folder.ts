import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { PLATFORM_VERSION } from '#lib/config';
import {
  type DataPaths,
  dataPaths,
  type Lock,
  readJson,
  requireOwnFolder,
  takeLock,
  UP_LOCK,
  writeJson,
} from '#lib/data-folder';

/** A new operator key; the prefix is how the REST interface knows it from API keys. */
export function newOperatorKey(): string {
  return `apo_${randomBytes(30).toString('base64url')}`;
}

/** A start by a newer version than the one before. */
interface Upgrade {
  /** Folder to which the cluster is copied. */
  readonly cluster: string;
  /** Copies the small files, once; a copy that was interrupted is made anew. */
  copyFiles(): void;
}

/** Files that a start may change beside the databases. Objects, images and logs are only ever added to. */
const FILES = ['format.json', 'credentials.json', 'ports.json', 'kubeconfig', 'secrets', 'kube'];

/** @param version that was here before */
function upgradeFrom({ root }: DataPaths, version: string): Upgrade {
  const copy = join(root, 'backups', version);
  return {
    cluster: join(copy, 'postgres'),
    copyFiles() {
      const files = join(copy, 'files');
      const partial = `${files}.partial`;
      if (existsSync(files)) return;
      rmSync(partial, { recursive: true, force: true });
      mkdirSync(partial, { recursive: true, mode: 0o700 });
      for (const name of FILES.filter((one) => existsSync(join(root, one))))
        cpSync(join(root, name), join(partial, name), { recursive: true, preserveTimestamps: true });
      renameSync(partial, files);
    },
  };
}

/** True when a version is newer than another by its three numbers; one without such numbers is not. */
export function isNewer(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => text.split('-')[0]?.split('.').map(Number) ?? []);
  for (let place = 0; place < 3; place++) {
    const difference = (one?.[place] ?? 0) - (other?.[place] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** Mark in a data folder from the beginning of a restore to its end. */
export const UNFINISHED_RESTORE = 'restoring.json';

interface Unfinished {
  /** The backup. */
  readonly from: string;
}

/** @throws Error when the folder holds a part of a platform only */
export function refuseUnfinishedRestore(root: string): void {
  const path = join(root, UNFINISHED_RESTORE);
  if (!existsSync(path)) return;
  const from = readJson<Unfinished>(path)?.from ?? 'BACKUP';
  throw new Error(
    `restoring into ${root} was not finished; run "agentplane restore ${from} --data ${root}" again, which begins anew`,
  );
}

export function isUnfinishedRestore(root: string): boolean {
  return existsSync(join(root, UNFINISHED_RESTORE));
}

export function beginRestore(root: string, from: string): void {
  writeJson(join(root, UNFINISHED_RESTORE), { from } satisfies Unfinished);
}

export function endRestore(root: string): void {
  rmSync(join(root, UNFINISHED_RESTORE));
}

/** Version of the folder's layout that this program writes. */
const FORMAT_VERSION = 1;

/** A folder with one of these is a data folder, even after a broken file was removed. */
const OURS = ['format.json', 'ports.json', 'credentials.json'];

/**
 * Names that a data folder may have before it has its format: a start that was killed, images that came
 * before, and the files that `agentplane dev` keeps of the agent in the folder above.
 */
const BEFORE_FORMAT = /^(lock(\..*)?|format\.json\..*|images|dev|\.gitignore|lost\+found)$/;

/** Error codes of the operating system, in words. */
const TROUBLES: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EEXIST: 'it is a file',
  ENOTDIR: 'a part of its path is a file',
  ENOENT: 'nothing can be created there',
};

interface Format {
  readonly version: number;
  /** The version of Agentplane that last started over the folder; absent in folders of versions before 0.2.0. */
  readonly platform?: string;
}

/** A data folder that this process owns. */
export interface DataFolder {
  readonly paths: DataPaths;
  /** There when an older version was the last one here: what is copied before this one changes anything. */
  readonly upgrade: Upgrade | undefined;
  /** Records that the folder is this version's now; the copy must be complete. */
  settle(): void;
  /** Gives the folder back. */
  release(): void;
}

/**
 * Takes a data folder: makes it when it is missing, refuses one of a newer format or one that another platform owns.
 * @throws Error whose message names its owner or its version
 */
export function openDataFolder(folder: string): DataFolder {
  const paths = dataPaths(folder);
  const lock = takeFolder(paths.root);
  try {
    const upgrade = checkFormat(paths);
    makeFolders(paths);
    keepOutOfGit(paths.root);
    return {
      paths,
      upgrade,
      settle: () => upgrade && writeFormat(paths.root),
      release: () => lock.release(),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Makes and locks the folder; what the operating system refuses is said in words. */
function takeFolder(root: string): Lock {
  try {
    makeFolder(root);
    refuseUnfinishedRestore(root);
    refuseForeign(root);
    requireOwnFolder(root);
    return takeLock(
      join(root, 'lock'),
      ({ pid }) => `${root} is in use by process ${pid}; stop that platform, or choose another --data`,
      UP_LOCK,
    );
  } catch (error) {
    const trouble = TROUBLES[(error as NodeJS.ErrnoException).code ?? ''];
    if (trouble === undefined) throw error;
    throw new Error(`the data folder ${root} cannot be used: ${trouble}; name another with --data DIR`);
  }
}

/**
 * Modes are set each time, whatever the umask was when a folder was made. Where the platform is root, pods have users of
 * their own: they may pass through to the images and to their folders, and list nothing.
 */
function makeFolders(paths: DataPaths): void {
  const isRoot = process.getuid?.() === 0;
  const passable = isRoot ? 0o711 : 0o700;
  for (const path of [paths.secrets, paths.kube, paths.objects, paths.logs]) makePrivate(path, 0o700);
  for (const path of [paths.images, paths.node]) makePrivate(path, passable);
  keepToOwner(paths.root, isRoot);
}

/**
 * Restricts the folder to its owner: another user with write access could replace the names above; agents may
 * be other users.
 */
function keepToOwner(root: string, isRoot: boolean): void {
  const { mode, uid } = statSync(root);
  const wanted = (mode & 0o7755) | (isRoot ? 0o011 : 0);
  if (wanted !== (mode & 0o7777) && (isRoot || uid === process.getuid?.())) chmodSync(root, wanted);
}

function makePrivate(path: string, mode: number): void {
  mkdirSync(path, { recursive: true, mode });
  chmodSync(path, mode);
}

/** One level after the other: asked for all at once, Node calls a read-only parent ENOENT, and below /proc never ends. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const parent = dirname(path);
  if (!statSync(parent, { throwIfNoEntry: false })) makeFolder(parent);
  mkdirSync(path, { mode: 0o700 });
}

/** A folder with other things in it was named by mistake: a platform must not spread among them. */
function refuseForeign(root: string): void {
  const names = readdirSync(root);
  if (OURS.some((name) => names.includes(name)) || names.every((name) => BEFORE_FORMAT.test(name))) return;
  throw new Error(
    `${root} is not empty and is no data folder of Agentplane; name an empty or new folder with --data DIR`,
  );
}

function writeFormat(root: string): void {
  writeJson(join(root, 'format.json'), { version: FORMAT_VERSION, platform: PLATFORM_VERSION });
}

function checkFormat(paths: DataPaths): Upgrade | undefined {
  const { root } = paths;
  const format = readJson<Format>(join(root, 'format.json'));
  if (!format) {
    writeFormat(root);
    return undefined;
  }
  if (format.version > FORMAT_VERSION)
    throw new Error(
      `the data folder ${root} has format ${format.version}, and this program supports ${FORMAT_VERSION}; start it with a newer version of Agentplane`,
    );
  const { platform } = format;
  if (platform === undefined)
    throw new Error(
      `the data folder ${root} was made by a version before 0.2.0, whose databases cannot be upgraded; name another folder with --data DIR, or start this one with the version that made it`,
    );
  if (isNewer(platform, PLATFORM_VERSION))
    throw new Error(
      `the data folder ${root} was last used by Agentplane ${platform}, and this is ${PLATFORM_VERSION}; start it with ${platform} or newer, or restore a copy from before`,
    );
  return platform === PLATFORM_VERSION ? undefined : upgradeFrom(paths, platform);
}

/** The folder holds secrets and is often inside a checkout. */
function keepOutOfGit(root: string): void {
  const path = join(root, '.gitignore');
  if (!existsSync(path)) writeFileSync(path, '*\n');
}
