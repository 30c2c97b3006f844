import type { Instant } from '#lib/time';

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
