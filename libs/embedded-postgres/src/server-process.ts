import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { endProcess, isRunning, sendSignal, type ProcessIdentity } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import type { PostgresBinaries } from './binaries.js';
import { PROGRAM_ENVIRONMENT } from './cluster.js';
import type { OsUser } from './os-user.js';
import { findServer } from './pid-file.js';

export interface ServerRequest {
  readonly binaries: PostgresBinaries;
  readonly user: OsUser | undefined;
  readonly pgdata: string;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
  /** True when it ends with this process. */
  readonly isTied: boolean;
  /** File for the server's messages. */
  readonly logFile: string;
  readonly clock: Clock;
}

const START_TIMEOUT_MS = 60_000; // recovery after a crash is part of it

/**
 * Becomes its arguments, which a process beside it stops (INT: the fast stop) once standard input ends: this process
 * holds the other end. The signal goes to the group, whose number no other process can get while one of it is left.
 */
const TIED = 'exec 3<&0; ({ read -r _ <&3; kill -s INT -- -$$; } &); exec "$@" 3<&- </dev/null';

/**
 * Starts a server in a process group of its own and waits until it accepts connections. Unless it is tied, it outlives
 * this process when that is killed: the next start finds it by its pid file.
 * @throws Error when it does not come up; the reason is in the log file
 */
export async function startServer(request: ServerRequest): Promise<ProcessIdentity> {
  const { binaries, user, pgdata, port, settings, isTied, logFile, clock } = request;
  const log = openSync(logFile, 'a', 0o600);
  const all = { ...settings, port: String(port) };
  const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let failure: string | undefined;
  try {
    const server = [join(binaries.folder, 'bin', 'postgres'), '-D', pgdata, ...args] as const;
    const [program, ...words] = isTied ? (['/bin/sh', '-c', TIED, 'sh', ...server] as const) : server;
    const child = spawn(program, words, {
      cwd: '/',
      env: PROGRAM_ENVIRONMENT,
      stdio: [isTied ? 'pipe' : 'ignore', log, log],
      detached: true,
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    });
    child.on('error', (error) => (failure = error.message));
    child.on('exit', (code, signal) => (failure = `the server exited with ${code ?? signal}`));
    child.unref();
    // a socket for a pipe; it must be no reason for this process to stay
    if (child.stdin instanceof Socket) child.stdin.unref();
  } finally {
    closeSync(log);
  }
  const deadline = clock.monotonicMs() + START_TIMEOUT_MS;
  for (;;) {
    const found = findServer(pgdata);
    if (found?.file.isReady) return found.identity;
    if (failure === undefined && clock.monotonicMs() > deadline) failure = 'start timed out';
    if (failure !== undefined)
      throw new Error(`starting Postgres on port ${port} failed: ${failure}; see ${logFile}`);
    await clock.sleep(15);
  }
}

/**
 * Stops a server: smart (waits for clients), after a second fast (disconnects them), at last killed, which the next
 * start recovers from.
 */
export async function stopServer(identity: ProcessIdentity, clock: Clock): Promise<void> {
  if (!isRunning(identity)) return;
  sendSignal(identity.pid, 'SIGTERM', false);
  const deadline = clock.monotonicMs() + 1_000;
  while (isRunning(identity) && clock.monotonicMs() < deadline) await clock.sleep(15);
  await endProcess(identity, { clock, graceMs: 15_000, signal: 'SIGINT' });
}
