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
