import type { Clock } from '#lib/time';
import { BESIDE_STUCK, type ReadPiece, readMemoryFile, UNASKED, type Unread } from './memory-file.js';
import { readApart } from './read-apart.js';

/**
 * Maximum size with which a process may be started. It may claim later that its variables are all its memory.
 */
const MAX_BYTES = 2 << 20;
const FIRST_BYTES = 64 << 10;

/** A variable that a process was started with; undefined too when it is gone, or another user's. */
export function variableOf(pid: number, name: string, clock: Clock): Promise<string | Unread | undefined> {
  return variableIn(`/proc/${pid}/environ`, name, clock);
}

/**
 * Reads a variable of a process. Where stuck processes keep this process from reading, another one reads.
 * @param file with `NAME=value` and a zero for each variable
 */
export async function variableIn(
  file: string,
  name: string,
  clock: Clock,
): Promise<string | Unread | undefined> {
  const start = `\0${name}=`;
  const found = await readMemoryFile(file, clock, (read) => readVariable(read, start));
  if (found !== BESIDE_STUCK && found !== UNASKED) return found;
  const apart = await readApart(file, MAX_BYTES, clock);
  return Buffer.isBuffer(apart) ? readVariable(piecesOf(apart), start) : apart;
}

function piecesOf(text: Buffer): ReadPiece {
  let at = 0;
  return (buffer, offset) => {
    const copied = text.copy(buffer, offset, at);
    at += copied;
    return Promise.resolve(copied);
  };
}

/** No further than to the end of its value. */
async function readVariable(readPiece: ReadPiece, start: string): Promise<string | undefined> {
  // after a zero, so that every variable begins with one
  let buffer = Buffer.alloc(FIRST_BYTES);
  for (let filled = 1, searched = 0; ;) {
    const read = await readPiece(buffer, filled);
    filled += read;
    const isWhole = read === 0 || filled >= MAX_BYTES;
    const at = buffer.subarray(0, filled).indexOf(start, searched);
    const from = at + Buffer.byteLength(start);
    const end = at < 0 ? -1 : buffer.subarray(0, filled).indexOf(0, from);
    if (at >= 0 && (end >= 0 || isWhole)) return buffer.toString('utf8', from, end < 0 ? filled : end);
    if (isWhole) return undefined;
    searched = at < 0 ? Math.max(0, filled - start.length) : at;
    if (filled === buffer.length) buffer = Buffer.concat([buffer], filled * 2);
  }
}
