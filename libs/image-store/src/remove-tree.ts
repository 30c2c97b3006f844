import { lstat, opendir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Some file systems leave out names of a folder that is changed while it is read. */
const MAX_ROUNDS = 10;

/**
 * Removes a file, or a folder with all that is in it, one after the other; another process may do the same. Node's own `rm`
 * begins with all names of a folder at once: 200,000 of them, as many as an image may have, stop the program for two seconds
 * and take half a gigabyte.
 */
export async function removeTree(path: string): Promise<void> {
  const found = await unlessGone(lstat(path));
  if (!found) return;
  if (!found.isDirectory()) return await unlessGone(unlink(path));
  for (let round = 1; !(await removeFolder(path)); round++)
    if (round === MAX_ROUNDS) throw new Error(`removing ${path} failed: other files appear in it`);
}

/** @returns true when it was empty in the end */
async function removeFolder(path: string): Promise<boolean> {
  for await (const entry of (await unlessGone(opendir(path))) ?? []) {
    const inner = join(path, entry.name);
    await (entry.isDirectory() ? removeTree(inner) : unlessGone(unlink(inner)));
  }
  try {
    await unlessGone(rmdir(path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return false;
    throw error;
  }
}

async function unlessGone<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
