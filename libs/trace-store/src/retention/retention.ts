import type { Instant } from '#lib/time';
import type { TraceTier } from './trace-tier.js';

/** How long a tenant keeps its runs. */
export interface RetentionSettings {
  /** Of shortlived traces; undefined: as long as the others. */
  readonly shortlivedDays?: number | undefined;
  /** Of all traces; undefined: for good. */
  readonly longlivedDays?: number | undefined;
  /** Of runs whose sender and project name no tier; longlived when undefined. */
  readonly defaultTier?: TraceTier | undefined;
}

/** Settings, and what has expired by them now, by the database's clock. */
export interface RetentionBounds extends RetentionSettings {
  /** Shortlived runs that began before it are removed. */
  readonly shortlivedBound?: Instant | undefined;
  /** All runs that began before it are removed. */
  readonly longlivedBound?: Instant | undefined;
}

/** Age of runs, of one tenant at a time. */
export interface Retention {
  /**
   * Says how long the tenant's runs are kept; equal settings change nothing. What has expired by them goes with the next
   * tidyings.
   */
  set(tenantId: string, settings: RetentionSettings): Promise<void>;
  /** Undefined where nothing was set: everything is kept. */
  boundsOf(tenantId: string): Promise<RetentionBounds | undefined>;
  /** Makes a trace longlived, with the runs of it that are still to come. @returns false when it is not stored */
  upgrade(tenantId: string, traceId: string): Promise<boolean>;
}
