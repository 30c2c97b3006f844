import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '#lib/time';
import { STUCK, type Unread, UNASKED } from './memory-file.js';
import { LATE, within } from './within.js';

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
