import { join } from 'node:path';
import { isRunning, type ProcessIdentity } from '#lib/process-identity';
import { type PlatformCredentials, readCredentials } from './credentials.js';
import { dataPaths } from './data-paths.js';
import { readJson } from './json-file.js';

/** A platform that runs over a data folder. */
export interface RunningPlatform {
  /** Its data folder, as an absolute path. */
  readonly root: string;
  readonly supervisorPid: number;
  readonly credentials: PlatformCredentials;
}

/** The platform over this data folder, or undefined when none runs. */
export function findRunningPlatform(data: string): RunningPlatform | undefined {
  const { root, credentials: path } = dataPaths(data);
  const owner = readJson<ProcessIdentity>(join(root, 'lock'));
  const credentials = readCredentials(path);
  if (!credentials || !owner || !isRunning(owner)) return undefined;
  return { root, supervisorPid: owner.pid, credentials };
}

/** The message for when none runs. */
export function nothingRuns(data: string): string {
  return `no platform runs over the data folder ${dataPaths(data).root}; start one with "npm start", or name another with --data\n`;
}
