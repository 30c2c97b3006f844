import type { JsonObject } from '#lib/json';
import type { Instant } from '#lib/time';

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

/** A write of an example. Absent members are empty in a new example and unchanged in an existing one. */
export interface ExampleWrite {
  readonly id: string;
  readonly createdAt?: Instant | undefined;
  readonly sourceRunId?: string | undefined;
  readonly splits?: readonly string[] | undefined;
  /** JSON objects, as they are to be stored. */
  readonly metadata?: Buffer | undefined;
  readonly inputs?: Buffer | undefined;
  readonly outputs?: Buffer | undefined;
  /** Absent: as they are. */
  readonly attachments?: AttachmentChange | undefined;
}

/** A file of an example, whose bytes are an object of the object store. */
export interface ExampleAttachment {
  readonly name: string;
  readonly contentType: string;
  readonly objectId: string;
}

/** Change of the attachments of an example. */
export interface AttachmentChange {
  /** New attachments; they replace those of the same names. */
  readonly added: readonly ExampleAttachment[];
  /** The only ones that stay, and under which names; absent: all of them. */
  readonly kept?: readonly { readonly name: string; readonly as: string }[] | undefined;
}

/** A version of a dataset that a request made. */
export interface WrittenExamples {
  /** Ids in the order in which they were sent. */
  readonly ids: readonly string[];
  readonly asOf: Instant;
}

/** Place of a version of an example. */
export interface ExamplePlace {
  readonly datasetId: string;
  readonly ordinal: string;
  readonly since: Instant;
}

/** A version of an example without its payloads. */
export interface ExampleRow extends ExamplePlace {
  readonly id: string;
  readonly createdAt: Instant;
  readonly sourceRunId: string | undefined;
  readonly splits: readonly string[];
  /** Bytes of its payloads. */
  readonly bytes: number;
  /** Attachments in the order of their names. */
  readonly attachments: readonly ExampleAttachment[];
}

export const EXAMPLE_PAYLOADS = ['metadata', 'inputs', 'outputs'] as const;
export type ExamplePayload = (typeof EXAMPLE_PAYLOADS)[number];
/** JSON text of each that there is. */
export type ExamplePayloads = Readonly<Partial<Record<ExamplePayload, Buffer>>>;

/** A version of a dataset: the newest one at this time, or that of a tag. */
export type AsOf =
  { readonly kind: 'time'; readonly time: Instant } | { readonly kind: 'tag'; readonly tag: string };

export interface ExampleSearch {
  readonly datasetId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** The newest version without it. */
  readonly asOf?: AsOf | undefined;
  /** One of them is enough. */
  readonly splits?: readonly string[] | undefined;
  /** JSON text of an object that must be a part of the metadata. */
  readonly metadata?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Examples of one tenant at a time. */
export interface Examples {
  /**
   * Adds examples as one version of their dataset.
   * @throws PublicError not_found (the dataset), conflict (an id is taken), forbidden (too many); nothing is stored then
   */
  add(tenantId: string, datasetId: string, examples: readonly ExampleWrite[]): Promise<WrittenExamples>;
  /**
   * Changes examples as one version of their dataset.
   * @throws PublicError not_found (the dataset, or an example of it), forbidden; nothing is changed then
   */
  change(tenantId: string, datasetId: string, changes: readonly ExampleWrite[]): Promise<WrittenExamples>;
  /**
   * Ends examples; versions from before keep them unless `isHard`.
   * @throws PublicError not_found when one of them does not exist; nothing is deleted then
   */
  delete(tenantId: string, ids: readonly string[], isHard: boolean): Promise<void>;
  /**
   * A page of the matching examples, in the order in which they were made.
   * @throws PublicError not_found (the dataset, or a tag of it), bad_request when finding them takes too long
   */
  search(tenantId: string, search: ExampleSearch): Promise<readonly ExampleRow[]>;
  /** The given payloads of each, in their order; none of one that was removed meanwhile. */
  payloads(
    tenantId: string,
    rows: readonly ExamplePlace[],
    fields: readonly ExamplePayload[],
  ): Promise<readonly ExamplePayloads[]>;
}

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
