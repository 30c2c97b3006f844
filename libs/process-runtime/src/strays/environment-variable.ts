import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '#lib/time';
import {
  BESIDE_STUCK,
  LATE,
  readMemoryFile,
  type ReadPiece,
  STUCK,
  UNASKED,
  type Unread,
  within,
} from './memory-file.js';

/** Includes the time in which a loaded machine starts a process. */
const PATIENCE_MS = 3_000;

type Answer = Buffer | Unread | undefined;

/** Reads in flight by their path: another reader of the same path gets the same answer. */
const asked = new Map<string, Promise<Answer>>();
/** Paths that killed readers still wait for: an old kernel lets one wait until the other process is gone. */
const hanging = new Set<string>();

/**
 * Reads a file of `/proc/PID` by a process that is killed when it waits for the lock of that process's memory: it costs
 * more than a read of this process, and never one of its threads.
 * @param maxBytes that are read; more are left out. One file is always read with the same bound
 * @returns undefined for a file that is not there or may not be read; UNASKED where no process can be started
 */
export function readApart(path: string, maxBytes: number, clock: Clock): Promise<Answer> {
  if (hanging.has(path)) return Promise.resolve(STUCK);
  const before = asked.get(path);
  if (before) return before;
  const answer = read(path, maxBytes, clock).finally(() => asked.delete(path));
  asked.set(path, answer);
  return answer;
}

async function read(path: string, maxBytes: number, clock: Clock): Promise<Answer> {
  const child = started(path);
  if (!child) return UNASKED;
  const { promise: over, resolve } = Promise.withResolvers<Answer>();
  const pieces: Buffer[] = [];
  let bytes = 0;
  const text = (): Buffer => Buffer.concat(pieces).subarray(0, maxBytes);
  child.on('error', () => resolve(UNASKED));
  child.once('exit', () => hanging.delete(path));
  child.once('close', (code) => resolve(code === 0 ? text() : undefined));
  child.stdout?.on('data', (piece: Buffer) => {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= maxBytes) resolve(text());
  });
  child.stdout?.on('error', () => undefined);
  try {
    const found = await within(over, clock, PATIENCE_MS);
    if (found !== LATE) return found;
    if (child.exitCode === null && child.signalCode === null) hanging.add(path);
    return STUCK;
  } finally {
    if (child.pid !== undefined) child.kill('SIGKILL');
    child.stdout?.destroy();
  }
}

/**
 * Starts a reader. Without descriptors it has no streams and reports that later; without memory it does not
 * start.
 */
function started(path: string): ChildProcess | undefined {
  try {
    return spawn('/bin/cat', ['--', path], { cwd: '/', env: {}, stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
}

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
