import type { Instant } from '#lib/time';

/** Interpretation of the feedback of a key; a workspace has one for a key. */
export interface FeedbackConfig {
  readonly id: string;
  readonly key: string;
  /** JSON text of an object. */
  readonly config: string;
  readonly isLowerScoreBetter: boolean;
  readonly modifiedAt: Instant;
}

export interface FeedbackConfigSearch {
  /** Keys to find; any key when undefined. */
  readonly keys?: readonly string[] | undefined;
  /** Part of the key, in any case. */
  readonly keyContains?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Configurations of feedback, of one tenant at a time. */
export interface FeedbackConfigs {
  /**
   * @returns that of the key, which may be another one that is there already
   * @throws PublicError forbidden when the tenant has as many as it may
   */
  ensure(
    tenantId: string,
    config: Pick<FeedbackConfig, 'key' | 'config' | 'isLowerScoreBetter'>,
  ): Promise<FeedbackConfig>;
  /** Configurations, sorted by key. */
  list(tenantId: string, search: FeedbackConfigSearch): Promise<readonly FeedbackConfig[]>;
  /**
   * Changes the configuration of a key, under a lock; undefined members stay as they are.
   * @param change of the existing configuration; what it throws is thrown
   * @returns undefined when the key has none
   */
  update(
    tenantId: string,
    key: string,
    change: (found: FeedbackConfig) => Partial<Pick<FeedbackConfig, 'config' | 'isLowerScoreBetter'>>,
  ): Promise<FeedbackConfig | undefined>;
  /** @returns false when there was none */
  delete(tenantId: string, which: { readonly key: string } | { readonly id: string }): Promise<boolean>;
}
