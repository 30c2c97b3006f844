import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProcess } from '#lib/process-identity';
import type { Clock } from '#lib/time';

const LOCK_PATIENCE_MS = 5_000;
/** A lock without a holder was left by a crash of an older version: the holder is written before the lock exists. */
const EMPTY_PATIENCE_MS = 60_000;

/**
 * `up` and `image add` may write at the same time. The lock of a process that has ended does not count.
 * @returns what releases the lock
 */
export async function lockStore(folder: string, clock: Clock): Promise<() => Promise<void>> {
  const path = join(folder, '.index.lock');
  const own = `${path}-${process.pid}-${randomBytes(4).toString('hex')}`;
  const deadline = clock.monotonicMs() + LOCK_PATIENCE_MS;
  await writeFile(own, String(process.pid), { mode: 0o600 });
  try {
    for (;;) {
      try {
        await link(own, path);
        return () => rm(path, { force: true });
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

/** The process that has the lock; undefined when it has ended, or never was. */
async function findHolder(path: string, clock: Clock): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const holder = Number(text);
  if (holder > 0) return findProcess(holder) ? holder : undefined;
  const made = await stat(path).catch(() => undefined);
  return made && clock.now().getTime() - made.mtimeMs > EMPTY_PATIENCE_MS ? undefined : 0;
}

/** By its name, which one process gets: two that find the same dead holder would remove each other's lock. */
async function takeAway(path: string, own: string, clock: Clock): Promise<void> {
  const taken = `${own}-taken`;
  try {
    await rename(path, taken);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  // another one may have taken the dead lock away, and locked, since it was looked at
  if ((await findHolder(taken, clock)) !== undefined) await link(taken, path).catch(() => undefined);
  await rm(taken, { force: true });
}
