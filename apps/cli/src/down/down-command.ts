import { dataPaths, findOwner, type LockOwner, UP_LOCK } from '#lib/data-folder';
import { isRunning } from '#lib/process-identity';
import { type Clock, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { print } from '../output/print-items.js';

const LOOK_MS = 100;

export interface DownFlags {
  readonly data: string;
  readonly timeout: number;
}

/**
 * `agentplane down`: ends the supervisor, which stops its programs in order. A platform that does not run is no failure:
 * what was asked for is so.
 */
export async function stopPlatform({ data, timeout }: DownFlags, clock: Clock = systemClock): Promise<void> {
  const { root, logs } = dataPaths(data);
  const owner = findOwner(data);
  if (owner === undefined) {
    process.stderr.write(`no platform runs over the data folder ${root}; nothing to stop\n`);
    return;
  }
  if (owner.command !== UP_LOCK)
    throw new CommandError(
      'failed',
      `the data folder ${root} is in use by process ${owner.pid}, which is a backup or a restore and not a platform; wait until it has ended`,
    );
  interrupt(owner, root);
  process.stderr.write(`Stopping the platform over ${root} …\n`);
  if (!(await hasEnded(owner, timeout, clock)))
    throw new CommandError(
      'timedOut',
      `the platform over ${root} (process ${owner.pid}) has not stopped after ${timeout / 1000} s; it goes on stopping, and ${logs}/up.log says what it waits for`,
    );
  print(`platform over ${root} stopped\n`);
}

function interrupt({ pid }: LockOwner, root: string): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return; // it ended by itself
    if (code !== 'EPERM') throw error;
    throw new CommandError(
      'refused',
      `the platform over ${root} (process ${pid}) belongs to another user; stop it as that user`,
      { cause: error },
    );
  }
}

async function hasEnded(owner: LockOwner, timeoutMs: number, clock: Clock): Promise<boolean> {
  const deadline = clock.monotonicMs() + timeoutMs;
  while (isRunning(owner)) {
    if (clock.monotonicMs() >= deadline) return false;
    await clock.sleep(LOOK_MS);
  }
  return true;
}
