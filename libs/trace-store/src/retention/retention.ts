import type { Instant } from '#lib/time';
import type { TraceTier } from './trace-tier.js';

/** Retention of a tenant's runs. */
export interface RetentionSettings {
  /** Days that shortlived traces are kept; undefined: as long as the others. */
  readonly shortlivedDays?: number | undefined;
  /** Days that all traces are kept; undefined: indefinitely. */
  readonly longlivedDays?: number | undefined;
  /** Tier of runs whose sender and project name none; longlived when undefined. */
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
   * Sets the retention of the tenant's runs; equal settings change nothing. The next tidyings remove the runs
   * that have expired by it.
   */
  set(tenantId: string, settings: RetentionSettings): Promise<void>;
  /** Undefined when nothing was set: everything is kept. */
  boundsOf(tenantId: string): Promise<RetentionBounds | undefined>;
  /** Makes a trace longlived, with the runs of it that are still to come. @returns false when it is not stored */
  upgrade(tenantId: string, traceId: string): Promise<boolean>;
}
