import { spawn, type ChildProcess } from 'node:child_process';
import type { Clock } from '#lib/time';
import { endOfChild } from './end-of-child.js';

export interface StartedChild {
  readonly child: ChildProcess;
  /** See `endOfChild`. */
  readonly ended: Promise<string | Error>;
}

/** A graph host that has loaded the engine, and no agent. */
export interface SpareHost {
  /** Gives it once; undefined when it has ended. */
  take(): StartedChild | undefined;
}

export interface ChildProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly folder: string;
}

/**
 * Starts a program whose standard error and descriptors 3 and 4 are pipes to this process.
 * @throws Error when this process or the machine has no memory or no descriptors for one
 */
export function startChild(
  { command, args, folder: cwd, environment: env }: ChildProgram,
  clock: Clock,
): StartedChild {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'pipe', 'pipe', 'pipe'] });
  // before anything that throws: an 'error' that follows in the next tick would end this process without a listener
  const ended = endOfChild(child, clock);
  // Node makes no streams when spawn fails with EMFILE or ENFILE, although the type declares them
  const { stdio }: { readonly stdio?: ChildProcess['stdio'] } = child;
  if (!stdio)
    throw new Error('no file descriptors are left (EMFILE or ENFILE); raise the limit of open files');
  return { child, ended };
}
