import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type DataPaths, dataPaths, INSTALLATION, packagesOf, takeLock } from '#lib/data-folder';
import { draftCluster, hasRunningServer, installedMajor, removeCluster } from '#lib/embedded-postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { dropTakenPorts } from '../../data-folder/ports.js';
import {
  beginRestore,
  endRestore,
  isUnfinishedRestore,
  UNFINISHED_RESTORE,
} from '../../data-folder/unfinished-restore.js';
import { restoreObjects } from '../content/object-items.js';
import { kindOfPart, onlyOf } from '../content/part-entries.js';
import { type BackupManifest, type OpenBackup, thisMachine } from '../format/backup-manifest.js';
import { readPart } from '../part/read-part.js';
import type { PartRecord } from '../part/part-record.js';
import type { BackupWatch } from '../take/backup-watch.js';
import { recover } from './recover.js';
import { unpack } from './unpack.js';

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
