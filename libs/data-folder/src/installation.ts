import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

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
