import type { WorkerScope } from './scope.js';

/** The scope of the server's own work. Lint keeps it out of `http/`: a request has the scope of its caller. */
export const WORKER: WorkerScope = { kind: 'worker' };
