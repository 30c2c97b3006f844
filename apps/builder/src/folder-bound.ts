import type { Dir } from 'node:fs';
import { chmod, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { BuildError } from './build-error.js';

const LOOK_MS = 1_000;
/** Of the time between two looks, so that a folder of many files is not read all the time. */
const LOOKING_SHARE = 0.1;
const BLOCK = 512;
/** Removed, or replaced by something else, since it was listed. */
const GONE = ['ENOENT', 'ENOTDIR'];
/** Of a path in a message, in letters. */
const MAX_SHOWN = 200;

/** What a folder may take of the disk. */
export interface FolderBound {
  readonly folder: string;
  readonly maxBytes: number;
  readonly clock: Clock;
}

/**
 * Does something that fills a folder, and gives it up once the folder takes more of the disk than it may. Nothing else
 * bounds what a git host sends, or a command writes. It is not waited for then: a command may refuse to end, and ends with
 * the process that started it.
 * @param perform ends when the signal is aborted
 * @throws BuildError that names the bound, or a folder that cannot be read
 */
export async function withinBound<T>(
  bound: FolderBound,
  perform: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const ended = new AbortController();
  const watching = watch(bound, ended.signal).catch((error: unknown) => {
    if (ended.signal.aborted) return new Promise<never>(() => undefined);
    over.abort(error);
    throw error;
  });
  try {
    const result = await Promise.race([perform(over.signal), watching]);
    // what was faster than the first look
    await requireWithin(bound);
    return result;
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error;
  } finally {
    ended.abort();
  }
}

/** Looks until the signal is aborted, or the bound is passed; throws in both cases. */
async function watch(bound: FolderBound, signal: AbortSignal): Promise<never> {
  const { clock } = bound;
  for (let pauseMs = LOOK_MS; ;) {
    await clock.sleep(pauseMs, signal);
    const beganMs = clock.monotonicMs();
    await requireWithin(bound);
    pauseMs = Math.max(LOOK_MS, (clock.monotonicMs() - beganMs) / LOOKING_SHARE);
  }
}

/** What is removed meanwhile counts for nothing, and a file with several names once. */
async function requireWithin({ folder: root, maxBytes }: FolderBound): Promise<void> {
  let bytes = 0;
  const linked = new Set<string>();
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const entry of (await openFolder(folder)) ?? []) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      const found = await lstat(path).catch(() => undefined);
      if (!found) continue;
      const { dev, ino, nlink, blocks } = found;
      const isLinked = nlink > 1 && !found.isDirectory();
      if (isLinked && linked.has(`${dev}:${ino}`)) continue;
      if (isLinked) linked.add(`${dev}:${ino}`);
      bytes += blocks * BLOCK;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
    }
  }
}

/** A folder that was closed is opened: it is this user's, and may hold anything. */
async function openFolder(folder: string): Promise<Dir | undefined> {
  try {
    return await opendir(folder).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EACCES') throw error;
      await chmod(folder, 0o700);
      return await opendir(folder);
    });
  } catch (cause) {
    if (GONE.includes((cause as NodeJS.ErrnoException).code ?? '')) return undefined;
    const shown = folder.length > MAX_SHOWN ? `${folder.slice(0, MAX_SHOWN)}…` : folder;
    throw new BuildError(
      `the size of the checkout is not known: ${shown} cannot be read; let the build leave no such folder`,
      { cause },
    );
  }
}

function tooLarge(maxBytes: number): BuildError {
  return new BuildError(
    `the checkout takes more than ${Math.floor(maxBytes / 1_048_576)} MB of disk, twice the largest image; keep large files elsewhere, or build less into it`,
  );
}
