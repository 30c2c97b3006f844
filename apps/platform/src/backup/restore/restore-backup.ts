import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { chmod, chown, lstat, mkdir, open, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';
import { type DataPaths, dataPaths, INSTALLATION, packagesOf, takeLock } from '#lib/data-folder';
import {
  draftCluster,
  hasRunningServer,
  installedMajor,
  removeCluster,
  startEmbeddedPostgres,
} from '#lib/embedded-postgres';
import { openConnection, type OwnConnection } from '#lib/postgres';
import { databaseSecretName, RESOURCES } from '#lib/resources';
import type { TarEntry, TarItem } from '#lib/tar';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import {
  beginRestore,
  endRestore,
  isUnfinishedRestore,
  UNFINISHED_RESTORE,
} from '../../data-folder/data-folder.js';
import { dropTakenPorts } from '../../data-folder/ports.js';
import { restoreObjects } from '../content/object-items.js';
import { kindOfPart, onlyOf } from '../content/platform-items.js';
import { type BackupManifest, type OpenBackup, thisMachine } from '../format/backup-manifest.js';
import { type PartRecord, readPart } from '../part/part-file.js';
import type { BackupWatch } from '../take/terminal-watch.js';

/**
 * Makes a database's Secret unknown for each deployment: the controller makes it anew, with another password. Until then
 * pods of the deployments wait, instead of going to the address and the password of the original, which may be right
 * there and valid.
 */
const FORGET_ADDRESSES = `
DELETE FROM kube_objects secret USING kube_objects deployment
WHERE secret.resource = 'secrets' AND deployment.resource = $2
  AND secret.namespace = deployment.namespace AND secret.name = deployment.name || $1`;

export interface RecoverRequest {
  readonly root: string;
  /** Another Postgres has the port that the deployments know. */
  readonly isMoved: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Starts only Postgres, once: it recovers the copy to its moment, and puts it on the disk.
 * @returns number of databases
 */
async function recover({ root, isMoved, clock, log }: RecoverRequest): Promise<number> {
  if (!existsSync(join(root, 'secrets', 'postgres.json')))
    throw new Error('the backup has no passwords of its databases; restore another one');
  const postgres = await startEmbeddedPostgres({ dataDir: root, port: 0, isTied: true, log, clock });
  try {
    const names = await query(postgres.superuserUri, databasesOf);
    if (isMoved && names.includes('kube')) {
      const uri = new URL(postgres.superuserUri);
      uri.pathname = '/kube';
      const { plural, group } = RESOURCES.AgentDeployment;
      const values = [databaseSecretName(''), `${plural}.${group}`];
      await query(uri.toString(), (kube) => kube.query(FORGET_ADDRESSES, values));
    }
    return names.length;
  } finally {
    await postgres.stop();
  }
}

async function databasesOf(connection: OwnConnection): Promise<readonly string[]> {
  const { rows } = await connection.query<{ datname: string }>(
    'SELECT datname FROM pg_database WHERE NOT datistemplate',
  );
  return rows.map(({ datname }) => datname);
}

async function query<T>(uri: string, work: (connection: OwnConnection) => Promise<T>): Promise<T> {
  const connection = await openConnection({ uri, applicationName: 'agentplane restore' });
  try {
    return await work(connection);
  } finally {
    await connection.end();
  }
}

export interface UnpackOptions {
  /** Root of all unpacked entries. */
  readonly root: string;
  /** Owner of the files; this process's user when absent. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Waits for each file to be on the disk. */
  readonly isDurable: boolean;
  /** New target of a link. */
  readonly moveLink?: (target: string) => string;
}

/**
 * Permitted bits of a mode: no set-user-id, which would give the rights of the owner here, and no write
 * access for everybody. An archive that was not made here may name any mode.
 */
const MODE_BITS = 0o755;

/**
 * Unpacks entries below a root. Links are made last, so that nothing is written through one of this archive;
 * an existing link is not followed either, wherever it is in a path.
 * @throws Error for a path that leads out of the root
 */
export async function unpack(items: AsyncIterable<TarItem>, options: UnpackOptions): Promise<void> {
  const links: TarEntry[] = [];
  const folders: TarEntry[] = [];
  const room = new Room(options);
  for await (const { entry, body } of items) {
    const path = pathIn(options.root, entry.path);
    if (entry.kind === 'link') links.push(entry);
    else if (entry.kind === 'folder') {
      await room.makeFolder(path);
      folders.push(entry);
    } else {
      await room.makeFolder(dirname(path));
      await writeFile(path, entry.mode, body, options);
    }
  }
  for (const { path, target = '' } of links) {
    const whole = pathIn(options.root, path);
    await room.makeFolder(dirname(whole));
    await rm(whole, { force: true });
    await symlink(options.moveLink?.(target) ?? target, whole);
  }
  // last: a folder may be one that its owner may not write to
  for (const { path, mode } of folders) await chmod(pathIn(options.root, path), mode & MODE_BITS);
}

/** @throws Error when the path is not below the root */
function pathIn(root: string, path: string): string {
  const plain = normalize(path);
  if (plain.startsWith('/') || plain === '..' || plain.startsWith('../') || plain.includes('\0'))
    throw new Error(
      `${JSON.stringify(path)} leads out of the folder; the archive was not made by "agentplane backup"`,
    );
  return join(root, plain);
}

/** The folders of one archive. */
class Room {
  /** Paths that are folders and no links, for as long as the archive is unpacked. */
  readonly #made = new Set<string>();

  constructor(private readonly options: UnpackOptions) {}

  /** Looks at every part of the path: asked of the whole path, the system follows links of the parts before. */
  async makeFolder(path: string): Promise<void> {
    const { owner, root } = this.options;
    if (this.#made.has(path)) return;
    if (path !== root) await this.makeFolder(dirname(path));
    // the root is the operator's, and may be a link
    const found = await (path === root ? stat(path) : lstat(path)).catch(() => undefined);
    if (found && !found.isDirectory())
      throw new Error(
        `${path} is no folder, and the archive has something in it; the archive was not made by "agentplane backup"`,
      );
    if (!found) {
      await mkdir(path, { mode: 0o700 });
      if (owner) await chown(path, owner.uid, owner.gid);
    }
    this.#made.add(path);
  }
}

async function writeFile(
  path: string,
  mode: number,
  body: AsyncIterable<Buffer>,
  { owner, isDurable }: UnpackOptions,
): Promise<void> {
  // in place of the existing entry, which may be a link
  await rm(path, { force: true });
  const handle = await open(path, 'wx', 0o600);
  try {
    for await (const piece of body) await handle.writeFile(piece);
    await handle.chmod(mode & MODE_BITS);
    if (owner) await handle.chown(owner.uid, owner.gid);
    if (isDurable) await handle.sync();
  } finally {
    await handle.close();
  }
}

export interface RestoreRequest {
  readonly backup: OpenBackup;
  readonly dataFolder: string;
  /** Moves aside what is in the folder. */
  readonly isForced: boolean;
  readonly watch: BackupWatch;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Restored {
  /** New path of the former folder, if there was one. */
  readonly movedTo: string | undefined;
  /** Databases that Postgres recovered. */
  readonly databases: number;
}

/** Names that a folder may have and still counts as empty. */
const NOTHING = /^(lost\+found|\.gitignore|lock(\..*)?)$/;
/** Space for the log of changes of the first start, and some to work with. */
const SPARE_BYTES = 200e6;

/**
 * Makes a data folder of a backup. Until the end `up` refuses the folder, and a further restore empties it and begins
 * anew.
 * @throws Error when the folder cannot be used, the backup is of another Postgres or damaged, or does not come up
 */
export async function restoreBackup(request: RestoreRequest): Promise<Restored> {
  const { watch } = request;
  const { manifest } = request.backup;
  requireMajor(manifest);
  if (manifest.machine !== thisMachine())
    watch.note(
      `the backup was taken on ${manifest.machine}, and this is ${thisMachine()}: images with native packages have to be added again ("agentplane image add")`,
    );
  const paths = dataPaths(request.dataFolder);
  const movedTo = makeRoom(paths, request);
  try {
    const databases = await fill(paths, request);
    return { movedTo, databases };
  } catch (error) {
    if (movedTo === undefined) throw error;
    throw new Error(
      `${error instanceof Error ? error.message : String(error)}\nThe former content of ${paths.root} is in ${movedTo}`,
      { cause: error },
    );
  }
}

/** @returns number of databases that Postgres recovered */
async function fill(paths: DataPaths, request: RestoreRequest): Promise<number> {
  const { backup, watch, clock, log } = request;
  const { manifest } = backup;
  mkdirSync(paths.root, { recursive: true, mode: 0o700 });
  const lock = lockFolder(paths);
  try {
    empty(paths);
    requireSpace(paths, manifest);
    beginRestore(paths.root, backup.folder);
    mkdirSync(paths.objects, { mode: 0o700 });
    mkdirSync(paths.logs, { mode: 0o700 });
    for (const part of manifest.parts) await restorePart(part, paths, request);
    watch.end();
    const dropped = await dropTakenPorts(paths.ports);
    if (dropped.length > 0)
      watch.note(`ports that are taken on this machine are chosen anew: ${dropped.join(', ')}`);
    watch.stage('recovering the databases', undefined);
    const databases = await recover({ root: paths.root, isMoved: dropped.includes('postgres'), clock, log });
    watch.end();
    endRestore(paths.root);
    return databases;
  } finally {
    lock.release();
  }
}

function requireMajor({ postgres }: BackupManifest): void {
  const major = installedMajor();
  if (postgres === major) return;
  throw new Error(
    `the backup has databases of PostgreSQL ${postgres}, and this version of Agentplane brings PostgreSQL ${major}, which cannot read them: restore with the version that took the backup`,
  );
}

function lockFolder({ root }: DataPaths): { release(): void } {
  return takeLock(
    join(root, 'lock'),
    ({ pid }) =>
      `${root} is in use by process ${pid}; stop that platform, or name another folder with --data`,
  );
}

/** @returns where the former content is now */
function makeRoom(paths: DataPaths, { isForced, clock }: RestoreRequest): string | undefined {
  const { root } = paths;
  if (!existsSync(root) || isUnfinishedRestore(root)) return undefined;
  if (readdirSync(root).every((name) => NOTHING.test(name))) return undefined;
  if (!isForced)
    throw new Error(
      `${root} is not empty; name a new folder with --data, or move its content aside with --force`,
    );
  lockFolder(paths).release();
  if (hasRunningServer(root))
    throw new Error(
      `the Postgres of ${root} still runs, left by a platform that was killed; start and stop that once`,
    );
  const aside = `${root}.before-${clock.now().toISOString().replace(/[:.]/g, '')}`;
  renameSync(root, aside);
  return aside;
}

/** Deletes the content of an interrupted restore. */
function empty({ root }: DataPaths): void {
  if (!isUnfinishedRestore(root)) return;
  removeCluster(root);
  for (const name of readdirSync(root))
    if (!NOTHING.test(name) && name !== UNFINISHED_RESTORE)
      rmSync(join(root, name), { recursive: true, force: true });
}

function requireSpace({ root }: DataPaths, { parts }: BackupManifest): void {
  const needed = parts.reduce((sum, { contentBytes }) => sum + contentBytes, SPARE_BYTES);
  const { bavail, bsize } = statfsSync(root);
  if (bavail * bsize >= needed) return;
  const mb = (bytes: number): number => Math.ceil(bytes / 1e6);
  throw new Error(
    `the disk of ${root} is too small: ${mb(bavail * bsize)} MB free, ${mb(needed)} MB needed; free some, or name a folder on another disk with --data`,
  );
}

async function restorePart(part: PartRecord, paths: DataPaths, request: RestoreRequest): Promise<void> {
  const { backup, watch } = request;
  watch.stage(part.name, part.bytes);
  const kind = kindOfPart(part);
  const read = readPart(backup.folder, part, backup.key, (bytes) => watch.bytes(bytes));
  const items = onlyOf(kind, read);
  switch (kind) {
    case 'objects':
    case 'changes':
      return restoreObjects(paths.objects, items);
    case 'databases': {
      const draft = draftCluster(paths.root);
      // its first start brings all of it to the disk
      await unpack(items, { root: draft.folder, owner: draft.owner, isDurable: false });
      return draft.settle();
    }
    case 'images':
      return unpack(items, { root: paths.root, isDurable: false, moveLink: linkMover(backup.manifest) });
    case 'files':
    case 'audit':
      return unpack(items, { root: paths.root, isDurable: true });
    default:
      throw new Error(`the backup has a part ${part.name}, which this version of Agentplane does not know`);
  }
}

/** Links of images to the packages of the installation. */
function linkMover({ installation }: BackupManifest): (target: string) => string {
  const itself = join(installation, 'node_modules');
  const around = dirname(installation);
  return (target) => {
    // a package is in the folder of its packages
    if (target === itself || (target === around && basename(around) === 'node_modules'))
      return packagesOf(INSTALLATION);
    return target.startsWith(`${installation}/`)
      ? join(INSTALLATION, target.slice(installation.length + 1))
      : target;
  };
}
