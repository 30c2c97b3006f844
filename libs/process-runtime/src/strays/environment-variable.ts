import { closeSync, openSync, readSync } from 'node:fs';

/** As much as a process may be started with. It may say later that its variables are all its memory. */
const MAX_BYTES = 2 << 20;
const FIRST_BYTES = 64 << 10;

/** A variable that a process was started with; undefined too when it is gone, or another user's. */
export function variableOf(pid: number, name: string): string | undefined {
  return variableIn(`/proc/${pid}/environ`, name);
}

/** @param file with `NAME=value` and a zero for each variable */
export function variableIn(file: string, name: string): string | undefined {
  const start = `\0${name}=`;
  try {
    const bytes = readStart(file);
    const at = bytes.indexOf(start);
    if (at < 0) return undefined;
    const from = at + Buffer.byteLength(start);
    const end = bytes.indexOf(0, from);
    return bytes.toString('utf8', from, end < 0 ? bytes.length : end);
  } catch {
    return undefined;
  }
}

/** After a zero, so that every variable begins with one. */
function readStart(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    let buffer = Buffer.alloc(FIRST_BYTES);
    for (let filled = 1; ;) {
      const read = readSync(file, buffer, filled, buffer.length - filled, null);
      filled += read;
      if (read === 0 || filled >= MAX_BYTES) return buffer.subarray(0, filled);
      if (filled === buffer.length) buffer = Buffer.concat([buffer], filled * 2);
    }
  } finally {
    closeSync(file);
  }
}
