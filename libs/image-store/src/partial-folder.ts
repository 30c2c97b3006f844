import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { findProcess, ownIdentity, type ProcessIdentity } from '#lib/process-identity';
import { removeTree } from './remove-tree.js';

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
