import type { Deployments } from './deployment/deployments.js';
import type { BulkExports } from './bulk-export/bulk-exports.js';
import type { Destinations } from './bulk-export/destinations.js';
import type { Listeners } from './listener/listeners.js';
import type { LivingKeys } from './tenancy/living-keys.js';
import type { TraceIngestion } from './trace/trace-ingestion.js';
import type { Traces } from './trace/traces.js';

/** What the routes call. Built by plain constructors before the server is. */
export interface Services {
  readonly keys: LivingKeys;
  readonly ingestion: TraceIngestion;
  readonly traces: Traces;
  readonly deployments: Deployments;
  readonly listeners: Listeners;
  readonly destinations: Destinations;
  readonly exports: BulkExports;
}
