import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { withUmask } from '#lib/process-identity';
import type { OsUser } from './os-user.js';

/** Folder for root: an unprivileged account can reach it whatever the mode of the data folder's parents. */
export const SHARED_FOLDER = '/var/lib/agentplane';

/** File in the data folder that names PGDATA's folder, when it is elsewhere. */
const NOTE = 'postgres.location';
/** File beside that folder that names its owner. */
const OWNER = 'owner';

/**
 * The file of a data folder that names the folder of its databases; it exists only when they are elsewhere.
 */
export function locationNote(dataFolder: string): string {
  return join(dataFolder, NOTE);
}

/** The data folder that a folder of databases belongs to; undefined when it names none. */
export function dataOwner(noted: string): string | undefined {
  const file = join(dirname(noted), OWNER);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/**
 * The folder that holds PGDATA for a data folder: the data folder's own `postgres`; or, when the server runs as another
 * user who cannot go there, a folder of that user, noted in the file `postgres.location`. Its name is random: a data
 * folder that was deleted and made again must not find the data of the former one.
 */
export function locateData(dataFolder: string, user: OsUser | undefined): string {
  const note = locationNote(dataFolder);
  if (existsSync(note)) {
    const noted = readFileSync(note, 'utf8').trim();
    requireOwn(noted, dataFolder);
    if (user) makeFolderFor(user, noted);
    return noted;
  }
  const own = join(dataFolder, 'postgres');
  if (!user) {
    mkdirSync(own, { recursive: true, mode: 0o700 });
    return own;
  }
  const isPlaced = isReachable(dirname(realpathSync(dataFolder)), user);
  if (existsSync(own) && !isPlaced)
    throw new Error(
      `the databases in ${own} cannot be reached by the user ${user.name}, as whom Postgres runs: move the data folder, or let others pass through the folders above it (chmod o+x)`,
    );
  if (isPlaced) {
    letThrough(dataFolder, user);
    makeFolderFor(user, own);
    return own;
  }
  const place = join(SHARED_FOLDER, randomBytes(8).toString('hex'));
  const shared = join(place, 'postgres');
  withUmask(0o022, () => mkdirSync(place, { recursive: true, mode: 0o755 }));
  // the node may have made it for itself
  letThrough(SHARED_FOLDER, user);
  makeFolderFor(user, shared);
  writeFileSync(join(place, OWNER), `${realpathSync(dataFolder)}\n`);
  // last: a note means that the folder exists
  writeFileSync(note, `${shared}\n`);
  return shared;
}

/**
 * A data folder that was copied has the note of the original with it. Two folders must never share one database, and
 * one whose database stayed behind must not get a new, empty one.
 */
function requireOwn(noted: string, dataFolder: string): void {
  const here = realpathSync(dataFolder);
  const note = join(here, NOTE);
  if (!existsSync(noted))
    throw new Error(
      `the databases of ${here} lie in ${noted}, which does not exist: copy that folder here too, and write its path into ${note}`,
    );
  if (!holdsDatabases(noted))
    throw new Error(
      `${note} names ${noted}, which is no folder of databases: write the path of the one that belongs to ${here} into the note`,
    );
  const ownerFile = join(dirname(noted), OWNER);
  const owner = dataOwner(noted) ?? here;
  const ownersNote = join(owner, NOTE);
  if (owner !== here && existsSync(ownersNote) && readFileSync(ownersNote, 'utf8').trim() === noted)
    throw new Error(
      `the databases in ${noted} belong to ${owner}, of which ${here} is a copy: copy that folder as well, and write the path of its copy into ${note}`,
    );
  writeFileSync(ownerFile, `${here}\n`);
}

/**
 * True for a folder with databases, and for an empty one: the note may have been written by any user, and the
 * folder that it names is given to the server's user.
 */
function holdsDatabases(folder: string): boolean {
  if (!lstatSync(folder).isDirectory()) return false;
  const names = readdirSync(folder);
  return names.length === 0 || names.some((name) => /^data-\d+(\.|$)/.test(name));
}

/** Lets only the user pass through the folder: it also contains agents' traces and files. */
function letThrough(folder: string, user: OsUser): void {
  if (isPassable(folder, user)) return;
  chownSync(folder, statSync(folder).uid, user.gid);
  chmodSync(folder, (statSync(folder).mode & 0o707) | 0o010);
}

function isPassable(folder: string, user: OsUser): boolean {
  const { mode, uid, gid } = statSync(folder);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return (mode & bit) !== 0;
}

/** True when the user may pass through the folder and everything above it. */
function isReachable(folder: string, user: OsUser): boolean {
  if (!isPassable(folder, user)) return false;
  const above = dirname(folder);
  return above === folder || isReachable(above, user);
}

function makeFolderFor(user: OsUser, folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chownSync(folder, user.uid, user.gid);
}
