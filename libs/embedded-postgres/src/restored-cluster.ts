import { chownSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findBinaries } from './binaries.js';
import { dataOwner, locateData, locationNote, SHARED_FOLDER } from './data-location.js';
import { findServer } from './pid-file.js';
import { type OsUser, serverUser } from './os-user.js';

/** Folder for the files of a cluster, which then becomes that of a data folder. */
export interface ClusterDraft {
  readonly folder: string;
  /** The user of the server, who must own the files; undefined when it is this process's user. */
  readonly owner: OsUser | undefined;
  /** Gives the cluster its place. */
  settle(): void;
}

/** The major version of the Postgres that npm installed: clusters of others cannot be used. */
export function installedMajor(): string {
  const { version } = findBinaries(serverUser(), SHARED_FOLDER);
  return version.split('.')[0] ?? '';
}

/**
 * An empty folder for the files of a cluster of this major version. Files of an interrupted restore are
 * removed.
 * @throws Error when the data folder has a cluster
 */
export function draftCluster(dataDir: string): ClusterDraft {
  const owner = serverUser();
  const pgdata = join(locateData(dataDir, owner), `data-${installedMajor()}`);
  if (existsSync(pgdata))
    throw new Error(`${pgdata} exists: there are databases in the place of those to restore`);
  const folder = `${pgdata}.restored`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  if (owner) chownSync(folder, owner.uid, owner.gid);
  return { folder, owner, settle: () => renameSync(folder, pgdata) };
}

/** Removes the databases of a data folder, also if they are stored elsewhere. No server may run on them. */
export function removeCluster(dataDir: string): void {
  rmSync(join(dataDir, 'postgres'), { recursive: true, force: true });
  const note = locationNote(dataDir);
  if (!existsSync(note)) return;
  const noted = readFileSync(note, 'utf8').trim();
  // a folder that was copied names the databases of the original
  if (existsSync(noted) && dataOwner(noted) === realpathSync(dataDir))
    rmSync(dirname(noted), { recursive: true, force: true });
  rmSync(note);
}

/** True when a server runs on the databases of a data folder, as after a platform that was killed. */
export function hasRunningServer(dataDir: string): boolean {
  const note = locationNote(dataDir);
  const place = existsSync(note) ? readFileSync(note, 'utf8').trim() : join(dataDir, 'postgres');
  return findServer(join(place, `data-${installedMajor()}`)) !== undefined;
}
