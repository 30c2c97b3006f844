import { resolve } from 'node:path';

/** Root of this installation: where dist/, crds/, deploy/ and examples/ lie. */
export const INSTALLATION = resolve(import.meta.dirname, '..', '..', '..', '..');

/** The data folder when none is named. */
export const DEFAULT_DATA = '.agentplane';
/** Address of the REST interface when none is named. */
export const DEFAULT_LISTEN = '127.0.0.1:8470';
