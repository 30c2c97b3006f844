import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '#lib/time';
import { statusOf } from './process-status.js';

/** It took longer than a reader waits. */
export const LATE = Symbol('late');

/** A stopped process misses one look, however long it is stopped: the others are made while it runs. */
const LOOK_MS = 200;

/**
 * Result of a promise within so many milliseconds of running time: time in which this process itself stood
 * still, because the machine slept or was overloaded, is not counted.
 */
export async function within<T>(
  over: Promise<T>,
  clock: Clock,
  patienceMs: number,
): Promise<T | typeof LATE> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>();
  let cancel = (): void => undefined;
  const look = (left: number): void => {
    cancel = clock.after(LOOK_MS, () => (left > 1 ? look(left - 1) : resolve(LATE)));
  };
  look(Math.ceil(patienceMs / LOOK_MS));
  try {
    return await Promise.race([over, late]);
  } finally {
    cancel();
  }
}

/** The process holds the lock of its own memory. */
export const STUCK = Symbol('stuck');
export type Stuck = typeof STUCK;
/** It was not asked: too many others hold theirs. */
export const UNASKED = Symbol('unasked');
/** It was not asked: another process of its user holds its own. */
export const BESIDE_STUCK = Symbol('beside a stuck process of its user');
export type Unread = Stuck | typeof UNASKED | typeof BESIDE_STUCK;

/** A process that has no reason to keep a reader waiting answers within microseconds. */
const PATIENCE_MS = 1_000;
/** Each has one of the four threads in which Node works with files, a stuck one for good. */
const MAX_OPEN = 2;

/** Reads that are not over, by path, with the user of the file. */
const reading = new Map<string, { readonly uid: number; readonly over: Promise<unknown> }>();
/** Paths among them that took too long. */
const stuck = new Set<string>();

/** Reads a file from its start: up to so many bytes, and fewer only at its end. */
export type ReadPiece = (buffer: Buffer, offset: number) => Promise<number>;

/**
 * Reads one of the files of `/proc/PID` for which the kernel takes the lock of that process's memory:
 * `environ`, `smaps_rollup`. A process that maps a file of a file system of its own (FUSE) may hold the lock
 * as long as it likes; the node's own thread must not wait for it. The read ends once the process is killed.
 * @param read of the open file; not called, or left alone, where there is no answer
 * @returns undefined for a file that is not there or may not be read
 */
export async function readMemoryFile<T>(
  path: string,
  clock: Clock,
  read: (piece: ReadPiece) => Promise<T>,
): Promise<T | Unread | undefined> {
  const uid = ownerOf(path);
  if (uid === undefined) return undefined;
  // one read of a process at a time, and few in all
  for (;;) {
    const before = reading.get(path);
    // a file that was waited for once is not waited for again
    if (before && stuck.has(path)) return STUCK;
    if (before && (await within(before.over, clock, PATIENCE_MS)) === LATE) return STUCK;
    if (before) continue;
    // one stuck read of a user is enough, and none more than there may be
    if ([...stuck].some((other) => reading.get(other)?.uid === uid)) return BESIDE_STUCK;
    if (stuck.size >= MAX_OPEN) return UNASKED;
    if (reading.size < MAX_OPEN) break;
    await within(Promise.race([...reading.values()].map(({ over }) => over)), clock, PATIENCE_MS);
  }
  const over = readWhole(path, read);
  reading.set(path, { uid, over });
  void over.finally(() => {
    reading.delete(path);
    stuck.delete(path);
  });
  const found = await within(over, clock, PATIENCE_MS);
  if (found !== LATE) return found;
  if (reading.has(path)) stuck.add(path);
  return STUCK;
}

/**
 * Owner from its status, for which no lock is taken: the folder of a process that may not be traced is
 * root's.
 */
function ownerOf(path: string): number | undefined {
  const pid = /^\/proc\/(\d+)\//.exec(path)?.[1];
  if (pid !== undefined) return statusOf(Number(pid))?.uids[0];
  return statSync(dirname(path), { throwIfNoEntry: false })?.uid;
}

async function readWhole<T>(path: string, read: (piece: ReadPiece) => Promise<T>): Promise<T | undefined> {
  try {
    await using file = await open(path, 'r');
    return await read(async (buffer, offset) => {
      const { bytesRead } = await file.read(buffer, offset, buffer.length - offset, null);
      return bytesRead;
    });
  } catch {
    return undefined;
  }
}
