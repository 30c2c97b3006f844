import { join } from 'node:path';
import { type PlatformCredentials, readCredentials } from './credentials.js';
import { dataPaths } from './data-paths.js';
import { findLockOwner, type LockOwner } from './lock.js';

/** A platform that runs over a data folder. */
export interface RunningPlatform {
  /** Its data folder, as an absolute path. */
  readonly root: string;
  readonly supervisorPid: number;
  readonly credentials: PlatformCredentials;
}

/** The command that `agentplane up` writes into its lock. */
export const UP_LOCK = 'up';

/** The process that owns this data folder: a platform, also one that still starts, or a backup or restore. */
export function findOwner(data: string): LockOwner | undefined {
  return findLockOwner(join(dataPaths(data).root, 'lock'));
}

/** The platform over this data folder, or undefined when none runs. */
export function findRunningPlatform(data: string): RunningPlatform | undefined {
  const { root, credentials: path } = dataPaths(data);
  const owner = findOwner(data);
  const credentials = readCredentials(path);
  if (!credentials || !owner) return undefined;
  return { root, supervisorPid: owner.pid, credentials };
}

/** The message for when none runs. */
export function nothingRuns(data: string): string {
  return `no platform runs over the data folder ${dataPaths(data).root}; start one with "agentplane up" (in a checkout also "npm start"), or name another with --data\n`;
}
