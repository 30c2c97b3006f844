import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync } from 'node:fs';
import type { HeldSockets } from '#lib/held-sockets';
import { findProcess, type ProcessIdentity } from '#lib/process-identity';

export interface ProgramRequest {
  /** Path of the program. */
  readonly program: string;
  readonly arguments?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
  /** Its standard output and error are appended here. */
  readonly logFile: string;
  /** Held while no process of it runs; it may deposit more. */
  readonly sockets?: HeldSockets | undefined;
}

export interface SpawnedProgram {
  readonly child: ChildProcess;
  /** Undefined when it could not be started, or has ended already. */
  readonly identity: ProcessIdentity | undefined;
  /** Bytes of the log file that are older. */
  readonly logStart: number;
}

/** Starts a program as leader of a process group of its own, with a channel that closes when this process dies. */
export function spawnProgram(request: ProgramRequest): SpawnedProgram {
  const { program, environment, nodeOptions = [], logFile } = request;
  const output = openSync(logFile, 'a', 0o600);
  const logStart = fstatSync(output).size;
  const stdio = ['ignore', output, output, 'ipc'] as const;
  const held = request.sockets?.inheritance(request.sockets.ports, stdio.length);
  const child = spawn(process.execPath, [...nodeOptions, program, ...(request.arguments ?? [])], {
    detached: true,
    stdio: [...stdio, ...(held?.stdio ?? [])],
    env: { ...environment, ...held?.environment },
  });
  request.sockets?.follow(child);
  closeSync(output);
  return { child, identity: child.pid === undefined ? undefined : findProcess(child.pid), logStart };
}
