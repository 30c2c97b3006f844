import { basename, dirname, resolve } from 'node:path';

const above = resolve(import.meta.dirname, '..', '..', '..');

/** Root of this installation: where dist/, crds/, deploy/, docs/ and examples/ lie; tests run from the sources. */
export const INSTALLATION = basename(above) === 'dist' ? dirname(above) : above;

/** The data folder when none is named. */
export const DEFAULT_DATA = '.agentplane';
/** Address of the REST interface when none is named. */
export const DEFAULT_LISTEN = '127.0.0.1:8470';
