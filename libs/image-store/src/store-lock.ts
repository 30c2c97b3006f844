import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProcess } from '#lib/process-identity';
import type { Clock } from '#lib/time';

const LOCK_PATIENCE_MS = 5_000;

/**
 * `up` and `image add` may write at the same time. The lock of a process that has ended does not count.
 * @returns what releases the lock
 */
export async function lockStore(folder: string, clock: Clock): Promise<() => Promise<void>> {
  const path = join(folder, '.index.lock');
  const deadline = clock.monotonicMs() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      const file = await open(path, 'wx');
      await file.writeFile(String(process.pid));
      await file.close();
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = Number(await readFile(path, 'utf8').catch(() => ''));
    if (holder > 0 && !findProcess(holder)) await rm(path, { force: true });
    else if (clock.monotonicMs() > deadline)
      throw new Error(`${path} is locked by process ${holder}; try again when it has ended`);
    else await clock.sleep(20);
  }
}
