import type { Instant } from '#lib/time';
import type { AsOf } from './example.js';

/** A state of a dataset that a request made. */
export interface DatasetVersion {
  readonly asOf: Instant;
  readonly tags: readonly string[];
}

/** Ids of examples. */
export interface VersionDifference {
  readonly modified: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Versions of the datasets of one tenant. Every call but `find` throws PublicError not_found for a dataset that is not there. */
export interface DatasetVersions {
  /** Newest first. */
  list(
    tenantId: string,
    datasetId: string,
    page: { readonly limit: number; readonly offset: number; readonly search?: string | undefined },
  ): Promise<readonly DatasetVersion[]>;
  /** The newest version at a time, or that of a tag. @throws PublicError not_found */
  get(tenantId: string, datasetId: string, asOf: AsOf): Promise<DatasetVersion>;
  /**
   * Gives the newest version at that time the tag, which another one loses.
   * @throws PublicError not_found when no version is as old; forbidden when the dataset has as many tags as it may
   */
  tag(tenantId: string, datasetId: string, asOf: Instant, tag: string): Promise<DatasetVersion>;
  /** Changes of the examples from one version to another. */
  diff(tenantId: string, datasetId: string, from: AsOf, to: AsOf): Promise<VersionDifference>;
  /** Names of the splits that examples of a version are in. */
  splits(tenantId: string, datasetId: string, asOf?: AsOf): Promise<readonly string[]>;
  /** Puts examples into a split, or takes them out, as one version. @throws PublicError not_found for an example */
  moveSplit(
    tenantId: string,
    datasetId: string,
    change: { readonly split: string; readonly ids: readonly string[]; readonly isRemoved: boolean },
  ): Promise<void>;
}
