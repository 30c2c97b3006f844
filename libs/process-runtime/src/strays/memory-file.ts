import { open } from 'node:fs/promises';
import type { Clock } from '#lib/time';

/** The process holds the lock of its own memory. */
export const STUCK = Symbol('stuck');
export type Stuck = typeof STUCK;

/** A process that has no reason to keep a reader waiting answers within microseconds. */
const PATIENCE_MS = 1_000;
/** Each stuck read has one of the four threads in which Node works with files. */
const MAX_STUCK = 2;

const stuck = new Set<string>();

/** Reads a file from its start: up to so many bytes, and fewer only at its end. */
export type ReadPiece = (buffer: Buffer, offset: number) => Promise<number>;

/**
 * Reads one of the files of `/proc/PID` for which the kernel takes the lock of that process's memory: `environ`,
 * `smaps_rollup`. A process that maps a file of a file system of its own (FUSE) may hold the lock as long as it likes; the
 * node's own thread must not wait for it. The read ends once the process is killed.
 * @param read of the open file; not called, or left alone, where the answer is `STUCK`
 * @returns undefined for a file that is not there or may not be read
 */
export async function readMemoryFile<T>(
  path: string,
  clock: Clock,
  read: (piece: ReadPiece) => Promise<T>,
): Promise<T | Stuck | undefined> {
  if (stuck.has(path) || stuck.size >= MAX_STUCK) return STUCK;
  const reading = readWhole(path, read);
  const { promise: late, resolve } = Promise.withResolvers<Stuck>();
  const cancel = clock.after(PATIENCE_MS, () => {
    stuck.add(path);
    resolve(STUCK);
  });
  void reading.finally(() => {
    cancel();
    stuck.delete(path);
  });
  return Promise.race([reading, late]);
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
