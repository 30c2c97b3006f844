import type { Deployments } from './deployment/deployments.js';
import type { BulkExports } from './bulk-export/bulk-exports.js';
import type { Destinations } from './bulk-export/destinations.js';
import type { Keys } from './key/keys.js';
import type { Listeners } from './listener/listeners.js';
import type { KeyRing } from './tenancy/key-guard.js';
import type { TraceIngestion } from './trace/trace-ingestion.js';
import type { Traces } from './trace/traces.js';

/** What the routes call. Built by plain constructors before the server is. */
export interface Services {
  readonly keyRing: KeyRing;
  readonly keys: Keys;
  readonly ingestion: TraceIngestion;
  readonly traces: Traces;
  readonly deployments: Deployments;
  readonly listeners: Listeners;
  readonly destinations: Destinations;
  readonly exports: BulkExports;
}
