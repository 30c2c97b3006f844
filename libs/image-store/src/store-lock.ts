import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissingFile, unless } from '#lib/errors';
import { findProcess, isRunning, ownIdentity, type ProcessIdentity } from '#lib/process-identity';
import type { Clock } from '#lib/time';

const LOCK_PATIENCE_MS = 5_000;
/** A lock without a holder was left by a crash of an older version: the holder is written before the lock exists. */
const EMPTY_PATIENCE_MS = 60_000;

/**
 * `up` and `image add` may write at the same time. The lock of a process that has ended does not count, also after its pid
 * was given to another, as the same low pids come again in a container.
 * @returns function that releases the lock
 */
export async function lockStore(folder: string, clock: Clock): Promise<() => Promise<void>> {
  const path = join(folder, '.index.lock');
  const mark = randomBytes(8).toString('hex');
  const own = `${path}-${process.pid}-${mark}`;
  const text = JSON.stringify({ ...ownIdentity(), mark });
  const deadline = clock.monotonicMs() + LOCK_PATIENCE_MS;
  await writeFile(own, text, { mode: 0o600 });
  try {
    const made = await identityOf(own);
    const isOwn = async (): Promise<boolean> => (await identityOf(path)) === made;
    for (;;) {
      try {
        await link(own, path);
        // unless one that took a dead lock away took this one
        if (!(await isOwn())) continue;
        return async () => {
          if (await isOwn()) await rm(path, { force: true });
        };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = await findHolder(path, clock);
      if (holder === undefined) await takeAway(path, own, clock);
      else if (clock.monotonicMs() > deadline)
        throw new Error(`${path} is locked by process ${holder}; try again when it has ended`);
      else await clock.sleep(20);
    }
  } finally {
    await rm(own, { force: true });
  }
}

/**
 * Identity of the file of a name, with its time of writing: the number of a removed one is reused. Needs no
 * descriptor, of which a process may have none left: a lock that it could not release would stay until it
 * ends.
 */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(unless(isMissingFile));
  return found && `${found.dev}/${found.ino}/${found.mtimeNs}/${found.size}`;
}

/** The process that has the lock; undefined when it has ended, or never was. */
async function findHolder(path: string, clock: Clock): Promise<number | undefined> {
  const holder = parseHolder((await readFile(path, 'utf8').catch(unless(isMissingFile))) ?? '');
  if (holder !== undefined) return isHolding(holder) ? holder.pid : undefined;
  const made = await stat(path).catch(unless(isMissingFile));
  return made && clock.now().getTime() - made.mtimeMs > EMPTY_PATIENCE_MS ? undefined : 0;
}

/** Holder of a lock; an older version wrote only its pid. Undefined for an empty one. */
function parseHolder(text: string): Partial<ProcessIdentity> | undefined {
  const pid = Number(text);
  if (pid > 0) return { pid };
  try {
    return JSON.parse(text) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

function isHolding({ pid = 0, startedAt }: Partial<ProcessIdentity>): boolean {
  // a lock with this pid and no start time is from an earlier process of the same pid: this version writes
  // the start time
  if (startedAt === undefined) return pid !== process.pid && findProcess(pid) !== undefined;
  return isRunning({ pid, startedAt });
}

/**
 * Takes a lock away by renaming it, which succeeds for one process: two that find the same dead holder would
 * remove each other's lock.
 */
async function takeAway(path: string, own: string, clock: Clock): Promise<void> {
  const taken = `${own}-taken`;
  try {
    await rename(path, taken);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  // another one may have taken the dead lock away, and locked, since it was looked at
  let isHeld = true;
  try {
    isHeld = (await findHolder(taken, clock)) !== undefined;
  } finally {
    if (isHeld) await link(taken, path).catch(() => undefined);
    await rm(taken, { force: true });
  }
}
