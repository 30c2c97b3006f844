import type { JsonObject } from '#lib/json';
import type { Instant } from '#lib/time';

export const DATA_TYPES = ['kv', 'llm', 'chat'] as const;
export type DataType = (typeof DATA_TYPES)[number];

/** Details of a dataset that a client may set; absent members stay as they are. */
export interface DatasetDetails {
  readonly description?: string | undefined;
  /** JSON text. */
  readonly inputsSchema?: string | undefined;
  /** JSON text. */
  readonly outputsSchema?: string | undefined;
  /** JSON text. */
  readonly metadata?: string | undefined;
}

/** A set of examples that experiments are run on. */
export interface Dataset extends DatasetDetails {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly dataType: DataType;
  readonly createdAt: Instant;
  readonly modifiedAt: Instant;
  readonly exampleCount: number;
  /** Experiments that still exist. */
  readonly sessionCount: number;
  readonly lastSessionStartTime: Instant | undefined;
}

export interface NewDataset extends DatasetDetails {
  readonly id?: string | undefined;
  readonly name: string;
  readonly dataType: DataType;
}

export interface DatasetSearch {
  readonly ids?: readonly string[] | undefined;
  readonly name?: string | undefined;
  readonly nameContains?: string | undefined;
  readonly dataTypes?: readonly DataType[] | undefined;
  /** Must be a part of the metadata. */
  readonly metadata?: JsonObject | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Datasets of one tenant at a time. */
export interface Datasets {
  /** @throws PublicError conflict when the name or the id is taken; forbidden when the tenant has as many as it may */
  create(tenantId: string, dataset: NewDataset): Promise<Dataset>;
  /** Undefined also for another tenant's, and for one that is being deleted. */
  find(tenantId: string, id: string): Promise<Dataset | undefined>;
  /** Newest first. */
  list(tenantId: string, search: DatasetSearch): Promise<readonly Dataset[]>;
  /**
   * @returns the updated dataset; undefined when no dataset has this id
   * @throws PublicError conflict when another dataset has the name
   */
  update(
    tenantId: string,
    id: string,
    change: DatasetDetails & { readonly name?: string | undefined },
  ): Promise<Dataset | undefined>;
  /**
   * Deletes the dataset with its examples in all versions; its experiments stay as tracing projects. Tidying
   * completes an interrupted deletion.
   * @returns false when it did not exist
   */
  delete(tenantId: string, id: string): Promise<boolean>;
}
