import { spawn } from 'node:child_process';
import type { Dir } from 'node:fs';
import { chmod, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { type BoundedDisk, BuildError, DiskFullError, type WatchedDisk } from './build-error.js';
import { boundDisks, judged, requireRoom, watchDisks } from './disk-space.js';

/** Time limit for removing hundreds of thousands of files; the rest is deleted with the pod. */
const MAX_MS = 60_000;
/** Folders may be closed to their own user, and whatever is named may begin with a dash. */
const SCRIPT =
  'cd -- "$0" && chmod -R u+rwX . 2>/dev/null; cd -- "$0" && find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +';

/** Removes what a folder holds, with the rights of this user; what cannot be removed stays. */
function emptyFolder(folder: string): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', SCRIPT, folder], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
      timeout: MAX_MS,
      killSignal: 'SIGKILL',
    });
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}

const LOOK_MS = 1_000;
/** Share of the time spent looking, so that a folder of many files is not read all the time. */
const LOOKING_SHARE = 0.1;
const BLOCK = 512;
/** Removed, or replaced by something else, since it was listed. */
const GONE = ['ENOENT', 'ENOTDIR'];
/** Three times the most entries of an image: empty files take no bytes, and fill a disk as well. */
const MAX_FILES = 600_000;
/** Maximum length of a path in a message, in letters. */
const MAX_SHOWN = 200;

/** Limit of disk space for folders together, and the disks that must not be filled from elsewhere. */
export interface FolderBound {
  readonly folders: readonly string[];
  readonly maxBytes: number;
  /** Files, folders and links; 600,000 where it is not given. */
  readonly maxFiles?: number;
  readonly clock: Clock;
  readonly disks: readonly WatchedDisk[];
  /** Ends what still runs of a build that was given up, so that it writes no more. */
  readonly end?: () => void;
}

/** Space taken by the folders, by the last look, or by one in progress that found more already. */
interface Taken {
  bytes: number;
  files: number;
}

/**
 * Does something that fills folders, and gives it up once they take more of the disk than they may, or a disk
 * has too little left. There is no other limit for what a git host sends, or a command writes. It is not
 * waited for then: a command may refuse to end, and ends with the process that started it. The folders of one
 * that was given up are emptied at once: while the disk is full, the end of the build may be impossible to
 * store.
 * @param perform ends when the signal is aborted
 * @throws BuildError that names the bound, a disk that the build filled, or a folder that cannot be read, DiskFullError
 * for a disk that something else filled
 */
export async function withinBound<T>(
  bound: FolderBound,
  perform: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const ended = new AbortController();
  const taken: Taken = { bytes: 0, files: 0 };
  const disks = await boundDisks(bound.disks);
  const until = { clock: bound.clock, signal: ended.signal };
  const watching = Promise.race([watchFolders(bound, taken, ended.signal), watchDisks(disks, until)]).catch(
    (error: unknown) => {
      if (ended.signal.aborted) return new Promise<never>(() => undefined);
      over.abort(error);
      throw error;
    },
  );
  try {
    const result = await Promise.race([perform(over.signal), watching]);
    // a step that finished before the first check is checked here
    await requireWithin(bound, taken);
    return result;
  } catch (error) {
    ended.abort();
    if (!over.signal.aborted) throw await explained(error, bound, disks, taken);
    bound.end?.();
    const reason = await reasonOf(over.signal.reason, bound, taken);
    for (const folder of bound.folders) await emptyFolder(folder);
    throw reason;
  } finally {
    ended.abort();
  }
}

/** Error that names the limit, which explains more than that of a command without space. */
async function explained(
  error: unknown,
  bound: FolderBound,
  disks: readonly BoundedDisk[],
  taken: Taken,
): Promise<unknown> {
  try {
    await requireWithin(bound, taken);
    await requireRoom(disks);
    return error;
  } catch (found) {
    return found instanceof DiskFullError ? judged(found, taken) : found;
  }
}

/** A disk is filled between two looks at the folders, which take long: whose doing it was is seen by another one. */
async function reasonOf(error: unknown, bound: FolderBound, taken: Taken): Promise<unknown> {
  if (!(error instanceof DiskFullError)) return error;
  try {
    await requireWithin(bound, taken);
  } catch (found) {
    return found;
  }
  return judged(error, taken);
}

/** Looks until the signal is aborted, or the bound is passed; throws in both cases. */
async function watchFolders(bound: FolderBound, taken: Taken, signal: AbortSignal): Promise<never> {
  const { clock } = bound;
  for (let pauseMs = LOOK_MS; ;) {
    await clock.sleep(pauseMs, signal);
    const beganMs = clock.monotonicMs();
    await requireWithin(bound, taken);
    pauseMs = Math.max(LOOK_MS, (clock.monotonicMs() - beganMs) / LOOKING_SHARE);
  }
}

/**
 * Measures the folders. Files removed meanwhile are not counted, and a file with several names is counted
 * once.
 */
async function requireWithin(
  { folders: roots, maxBytes, maxFiles = MAX_FILES }: FolderBound,
  taken: Taken,
): Promise<void> {
  let [bytes, files] = [0, 0];
  const linked = new Set<string>();
  const folders = [...roots];
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
      files++;
      taken.bytes = Math.max(taken.bytes, bytes);
      taken.files = Math.max(taken.files, files);
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      if (files > maxFiles) throw tooMany(maxFiles);
    }
  }
  Object.assign(taken, { bytes, files });
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
      `the size of the working folder is not known: ${shown} cannot be read; let the build leave no such folder`,
      { cause },
    );
  }
}

function tooLarge(maxBytes: number): BuildError {
  return new BuildError(
    `the working folder takes more than ${Math.floor(maxBytes / 1_048_576)} MB of disk, three times the largest image (the checkout, with what commands keep beside it and in TMPDIR); keep large files elsewhere, or build less`,
  );
}

function tooMany(maxFiles: number): BuildError {
  return new BuildError(
    `the working folder has more than ${maxFiles} files, folders and links, three times the most of an image (the checkout, with what commands keep beside it and in TMPDIR); make fewer`,
  );
}
