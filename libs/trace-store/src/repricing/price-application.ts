import type { Instant } from '#lib/time';

/** Conditions on runs that are to be priced by the current table. */
export interface NewPriceApplication {
  readonly projectId: string;
  /** Runs that began then or later; undefined: from the first. */
  readonly from: Instant | undefined;
  /** Exclusive; undefined: up to now. */
  readonly to: Instant | undefined;
}

/** Runs that are priced again, and how far that came. */
export interface PriceApplication extends NewPriceApplication {
  readonly id: string;
  /** Start of the last run that was examined. */
  readonly reachedTime: Instant | undefined;
  /** Calls of models without costs of their senders. */
  readonly lookedAt: number;
  readonly changed: number;
  /** Number of them that match no price. */
  readonly withoutPrice: number;
  readonly requestedAt: Instant;
  readonly completedAt: Instant | undefined;
  /** Why the last attempt failed; it is repeated. */
  readonly problem: string | undefined;
}

/** A model whose runs have tokens and no cost. */
export interface UnmatchedModel {
  /** Undefined when senders named none. */
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly runs: number;
  readonly totalTokens: number;
  readonly firstStartTime: Instant;
  readonly lastStartTime: Instant;
}

export interface UnmatchedSearch {
  readonly projectIds: readonly string[];
  readonly from: Instant;
  readonly to: Instant;
}

/** Stored runs and the price table, of one tenant at a time. */
export interface PriceApplications {
  /** Begins to price runs again, in the background. @throws PublicError too_many */
  apply(tenantId: string, wanted: NewPriceApplication): Promise<PriceApplication>;
  find(tenantId: string, id: string): Promise<PriceApplication | undefined>;
  /** Newest first; ended ones for 30 days, a hundred at most. */
  list(tenantId: string): Promise<readonly PriceApplication[]>;
  /** The models with most runs first, a thousand at most. @throws PublicError bad_request when it takes too long */
  unmatched(tenantId: string, search: UnmatchedSearch): Promise<readonly UnmatchedModel[]>;
}
