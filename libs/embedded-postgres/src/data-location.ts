import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { withUmask } from '#lib/process-identity';
import type { OsUser } from './os-user.js';

/** For root: a place that an unprivileged account can reach whatever the mode of the data folder's parents. */
export const SHARED_FOLDER = '/var/lib/agentplane';

/**
 * The folder that holds PGDATA for a data folder: the data folder's own `postgres`; or, when the server runs as another
 * user who cannot go there, a folder of that user, noted in the file `postgres.location`. Its name is random: a data
 * folder that was deleted and made again must not find the data of the former one.
 */
export function locateData(dataFolder: string, user: OsUser | undefined): string {
  const note = join(dataFolder, 'postgres.location');
  if (existsSync(note)) {
    const noted = readFileSync(note, 'utf8').trim();
    if (user) makeFolderFor(user, noted);
    return noted;
  }
  const own = join(dataFolder, 'postgres');
  if (!user) {
    mkdirSync(own, { recursive: true, mode: 0o700 });
    return own;
  }
  if (existsSync(own) || isReachable(dirname(realpathSync(dataFolder)), user)) {
    letThrough(dataFolder, user);
    makeFolderFor(user, own);
    return own;
  }
  const place = join(SHARED_FOLDER, randomBytes(8).toString('hex'));
  const shared = join(place, 'postgres');
  withUmask(0o022, () => mkdirSync(place, { recursive: true, mode: 0o755 }));
  writeFileSync(note, `${shared}\n`);
  makeFolderFor(user, shared);
  return shared;
}

/** Lets only the user pass through the folder: agents' traces and files lie in it too. */
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

/** Whether the user may pass through the folder and everything above it. */
function isReachable(folder: string, user: OsUser): boolean {
  if (!isPassable(folder, user)) return false;
  const above = dirname(folder);
  return above === folder || isReachable(above, user);
}

function makeFolderFor(user: OsUser, folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chownSync(folder, user.uid, user.gid);
}
