import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProcess } from '#lib/process-identity';

/** The path of what is being made, or removed, in a folder of the store. Names the process, so that others know what was left. */
export function partialPath(place: string): string {
  return join(place, `.partial-${process.pid}-${randomBytes(4).toString('hex')}`);
}

/** Lets something be made under a name that nobody reads, and removes what is still there afterwards. */
export async function inPartial<T>(place: string, make: (partial: string) => Promise<T>): Promise<T> {
  const partial = partialPath(place);
  try {
    return await make(partial);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** Gives what was made its name. What another process put there meanwhile is the same, and stays. */
export async function moveInto(partial: string, target: string): Promise<void> {
  await rename(partial, target).catch((error: unknown) => {
    if (!existsSync(target)) throw error;
  });
}

/** Removes what processes left that were killed. */
export async function removePartials(folder: string): Promise<void> {
  for (const name of existsSync(folder) ? await readdir(folder) : []) {
    const pid = Number(/^\.partial-(\d+)-/.exec(name)?.[1]);
    if (pid > 0 && !findProcess(pid)) await rm(join(folder, name), { recursive: true, force: true });
  }
}
