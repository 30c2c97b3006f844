import type { Instant } from '#lib/time';

/** How feedback of a key is to be read; a workspace has one for a key. */
export interface FeedbackConfig {
  readonly id: string;
  readonly key: string;
  /** JSON text of an object. */
  readonly config: string;
  readonly isLowerScoreBetter: boolean;
  readonly modifiedAt: Instant;
}

export interface FeedbackConfigSearch {
  /** Any key when undefined. */
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
  /** By key. */
  list(tenantId: string, search: FeedbackConfigSearch): Promise<readonly FeedbackConfig[]>;
  /**
   * Changes that of a key, which nobody else changes meanwhile; what is undefined stays as it is.
   * @param change of the configuration that is there; what it throws is thrown
   * @returns undefined when there is none
   */
  update(
    tenantId: string,
    key: string,
    change: (found: FeedbackConfig) => Partial<Pick<FeedbackConfig, 'config' | 'isLowerScoreBetter'>>,
  ): Promise<FeedbackConfig | undefined>;
  /** @returns false when there was none */
  delete(tenantId: string, which: { readonly key: string } | { readonly id: string }): Promise<boolean>;
}
