import { existsSync, statfsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Name of the first Workspace, its Listener's is the platform's default. */
export const FIRST_WORKSPACE = 'default';

/**
 * Bucket of the embedded object store for attachments of runs: apart from exports, whose keys never reach it.
 */
export const ATTACHMENT_BUCKET = 'agentplane-attachments';

/** The folder in it that the key of the api reaches. */
export const ATTACHMENT_PREFIX = 'runs';

/** The folder in it for days that are sealed. */
export const LAKE_PREFIX = 'lake';

/** Free space below which nothing can be stored: Postgres takes its log of changes in files of 16 MB. */
const LEAST_FREE_BYTES = 16 * 1024 * 1024;

/**
 * Reason why nothing can be stored in a folder, in the one sentence with which every program reports it;
 * undefined while there is space. Also undefined when the folder cannot be looked at: that has a message of
 * its own.
 */
export function findDiskTrouble(folder: string): string | undefined {
  const free = freeBytes(folder);
  if (free === undefined || free >= LEAST_FREE_BYTES) return undefined;
  const left = Math.floor(free / 1024 / 1024);
  return `no space left on the disk of ${folder} (${left} MB free); free some, and everything goes on by itself`;
}

function freeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

const above = resolve(import.meta.dirname, '..', '..', '..');

/** Root of this installation, with dist/, crds/, deploy/, docs/ and examples/; tests run from the sources. */
export const INSTALLATION = basename(above) === 'dist' ? dirname(above) : above;

/** Every agent needs it. */
const SOME_PACKAGE = join('@langchain', 'langgraph', 'package.json');

/**
 * The folder of the packages that an installation runs on: its own `node_modules`, or, where npm installed it
 * as a package among others, the one that contains them all.
 */
export function packagesOf(installation: string): string {
  const own = join(installation, 'node_modules');
  const around = dirname(installation);
  return basename(around) !== 'node_modules' || existsSync(join(own, SOME_PACKAGE)) ? own : around;
}

/** The data folder when none is named. */
export const DEFAULT_DATA = '.agentplane';
/** Address of the REST interface when none is named. */
export const DEFAULT_LISTEN = '127.0.0.1:8470';
