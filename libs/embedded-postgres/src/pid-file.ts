import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProcess, findProgram, findStartTime, type ProcessIdentity } from '#lib/process-identity';

/** Contents of `postmaster.pid`, which a server writes about itself. */
export interface PidFile {
  readonly pid: number;
  readonly startedAt: Date;
  readonly port: number;
  /** It accepts connections. */
  readonly isReady: boolean;
}

/** The clock of the kernel and of the server's own note may round differently. */
const START_TOLERANCE_MS = 5_000;

/** Parses `PGDATA/postmaster.pid`; `undefined` when it is missing or not written to its end. */
export function readPidFile(pgdata: string): PidFile | undefined {
  let text: string;
  try {
    text = readFileSync(join(pgdata, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const lines = text.split('\n');
  const [pid, , started, port] = lines.map(Number);
  if (!pid || !started || !port) return undefined;
  return { pid, startedAt: new Date(started * 1000), port, isReady: lines[7]?.trim() === 'ready' };
}

/** The server that runs on this PGDATA now; a pid file left by a crash or a reboot, whose pid another has, is not one. */
export function findServer(pgdata: string): { file: PidFile; identity: ProcessIdentity } | undefined {
  const file = readPidFile(pgdata);
  const identity = file && findProcess(file.pid);
  if (!file || !identity) return undefined;
  const started = findStartTime(file.pid);
  if (!started || Math.abs(started.getTime() - file.startedAt.getTime()) > START_TOLERANCE_MS)
    return undefined;
  return /postgres$/.test(findProgram(file.pid) ?? '') ? { file, identity } : undefined;
}
