import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { BuildError } from './build-error.js';

const LOOK_MS = 1_000;
/** Of the time between two looks, so that a folder of many files is not read all the time. */
const LOOKING_SHARE = 0.1;
const BLOCK = 512;

/** What a folder may take of the disk. */
export interface FolderBound {
  readonly folder: string;
  readonly maxBytes: number;
  readonly clock: Clock;
}

/**
 * Does something that fills a folder, and ends it once the folder takes more of the disk than it may. Nothing else bounds
 * what a git host sends, or a command writes.
 * @param perform ends when the signal is aborted
 * @throws BuildError that names the bound
 */
export async function withinBound<T>(
  { folder, maxBytes, clock }: FolderBound,
  perform: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const ended = new AbortController();
  const watch = async (): Promise<void> => {
    for (let pauseMs = LOOK_MS; ;) {
      await clock.sleep(pauseMs, ended.signal);
      const beganMs = clock.monotonicMs();
      if (await isLarger(folder, maxBytes)) return over.abort();
      pauseMs = Math.max(LOOK_MS, (clock.monotonicMs() - beganMs) / LOOKING_SHARE);
    }
  };
  const watching = watch().catch((error: unknown) => {
    if (!ended.signal.aborted) throw error;
  });
  try {
    const result = await Promise.race([
      perform(over.signal),
      watching.then(() => new Promise<never>(() => undefined)),
    ]);
    // what was faster than the first look
    if (over.signal.aborted || (await isLarger(folder, maxBytes))) throw tooLarge(maxBytes);
    return result;
  } catch (error) {
    throw over.signal.aborted ? tooLarge(maxBytes) : error;
  } finally {
    ended.abort();
  }
}

function tooLarge(maxBytes: number): BuildError {
  return new BuildError(
    `the checkout takes more than ${Math.floor(maxBytes / 1_048_576)} MB of disk, twice the largest image; keep large files elsewhere, or build less into it`,
  );
}

/** What is removed meanwhile counts for nothing. */
async function isLarger(root: string, maxBytes: number): Promise<boolean> {
  let bytes = 0;
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await opendir(folder).catch(() => undefined);
    for await (const entry of entries ?? []) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      bytes += ((await lstat(path).catch(() => undefined))?.blocks ?? 0) * BLOCK;
      if (bytes > maxBytes) return true;
    }
  }
  return false;
}
