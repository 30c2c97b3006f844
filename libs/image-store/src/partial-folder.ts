import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, opendir, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissingFile, unless } from '#lib/errors';
import { findProcess, ownIdentity, type ProcessIdentity } from '#lib/process-identity';

/** Some file systems leave out names of a folder that is changed while it is read. */
const MAX_ROUNDS = 10;

/**
 * Removes a file, or a folder with all that is in it, one after the other; another process may do the same. Node's own `rm`
 * begins with all names of a folder at once: 200,000 of them, as many as an image may have, stop the program for two seconds
 * and take half a gigabyte.
 */
export async function removeTree(path: string): Promise<void> {
  const found = await lstat(path).catch(unless(isMissingFile));
  if (!found) return;
  if (!found.isDirectory()) return await unlink(path).catch(unless(isMissingFile));
  for (let round = 1; !(await removeFolder(path)); round++)
    if (round === MAX_ROUNDS) throw new Error(`removing ${path} failed: other files appear in it`);
}

/** @returns true when it was empty in the end */
async function removeFolder(path: string): Promise<boolean> {
  for await (const entry of (await opendir(path).catch(unless(isMissingFile))) ?? []) {
    const inner = join(path, entry.name);
    await (entry.isDirectory() ? removeTree(inner) : unlink(inner).catch(unless(isMissingFile)));
  }
  try {
    await rmdir(path).catch(unless(isMissingFile));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return false;
    throw error;
  }
}

/** Name of a partial folder; an older version used only the pid. */
const PARTIAL = /^\.partial-(\d+)-(?:([0-9a-f]{16})-)?/;

/** The path of what is being made, or removed, in a folder of the store. Names the process, so that others know what was left. */
export function partialPath(place: string): string {
  const own = ownIdentity();
  return join(place, `.partial-${own.pid}-${startOf(own)}-${randomBytes(4).toString('hex')}`);
}

/** A pid is given again, after a restart of a container often to the same program. */
function startOf({ startedAt }: ProcessIdentity): string {
  return createHash('sha256').update(startedAt).digest('hex').slice(0, 16);
}

/** Makes something under a temporary name that is never read, and removes the leftovers afterwards. */
export async function inPartial<T>(place: string, make: (partial: string) => Promise<T>): Promise<T> {
  const partial = partialPath(place);
  try {
    return await make(partial);
  } finally {
    await removeTree(partial);
  }
}

/**
 * Renames the partial folder to its final name. A folder that another process made there meanwhile is the
 * same, and stays.
 */
export async function moveInto(partial: string, target: string): Promise<void> {
  await rename(partial, target).catch((error: unknown) => {
    if (!existsSync(target)) throw error;
  });
}

/** Removes what processes left that were killed. Takes as long as what they left is large: never under the lock of the store. */
export async function removePartials(folder: string): Promise<void> {
  for (const name of existsSync(folder) ? await readdir(folder) : []) {
    const [isPartial, pid, start] = PARTIAL.exec(name) ?? [];
    if (isPartial !== undefined && !isInWork(Number(pid), start)) await removeTree(join(folder, name));
  }
}

function isInWork(pid: number, start: string | undefined): boolean {
  const found = findProcess(pid);
  return found !== undefined && (start === undefined ? pid !== process.pid : startOf(found) === start);
}
