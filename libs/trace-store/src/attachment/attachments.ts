import type { RunPlace } from '../run/stored-run.js';

/** Identity of bytes: two objects of a tenant never have the same. */
export interface AttachmentContent {
  readonly sha256: Buffer;
  readonly size: number;
}

/** A reference from a run to an object. */
export interface NewAttachment {
  readonly runId: string;
  readonly name: string;
  readonly contentType: string;
  readonly objectId: string;
}

/** A reference with its object. */
export interface StoredAttachment extends NewAttachment {
  readonly size: number;
}

/** A reference that was not stored, and the reason, for people. */
export interface RefusedAttachment {
  readonly runId: string;
  readonly name: string;
  readonly why: string;
}

/** An object that is to be deleted in the object store. */
export interface UnusedObject {
  readonly tenantId: string;
  readonly id: string;
}

/**
 * References from runs to objects of the object store, and facts about these. An object is `writing` from
 * before its first byte, `stored` once it is whole, `removing` when nothing refers to it.
 */
export interface Attachments {
  /**
   * Records that an object is about to be written.
   * @param size its bytes, as far as they are known
   * @returns its id; undefined when the tenant's quota is used up
   */
  begin(tenantId: string, size: number): Promise<string | undefined>;
  /** A stored object with this content, kept from removal for some minutes. */
  findContent(tenantId: string, content: AttachmentContent): Promise<string | undefined>;
  /** Counts an object that is about to be completed. @returns false when the tenant's quota is used up */
  reserve(tenantId: string, id: string, content: AttachmentContent): Promise<boolean>;
  /** An object is whole. @returns the object that has its content: another, if that was faster */
  settle(tenantId: string, id: string, content: AttachmentContent): Promise<string | undefined>;
  /** Marks an object as unused: tidying removes its data. */
  abandon(tenantId: string, id: string): Promise<void>;
  /**
   * Stores references, also to runs that have not arrived; one of the same run and name is replaced.
   * @param own id of the one project whose runs the sender may change
   * @returns those that were not stored
   */
  link(
    tenantId: string,
    attachments: readonly NewAttachment[],
    own?: string,
  ): Promise<readonly RefusedAttachment[]>;
  /** Attachments of these runs, by name; at most 100 of each run. */
  ofRuns(tenantId: string, runs: readonly RunPlace[]): Promise<readonly StoredAttachment[]>;
  /**
   * One of a run, or of any version of an example, that is stored; `ownerId` is the id of either.
   * @throws PublicError bad_request when too many versions of the example are newer than those that have it
   */
  find(tenantId: string, ownerId: string, objectId: string): Promise<StoredAttachment | undefined>;
  /**
   * Checks objects that are due, and takes those that nothing refers to; each is offered again later, until
   * it is forgotten.
   */
  takeUnused(limit: number): Promise<{ readonly unused: readonly UnusedObject[]; readonly isMore: boolean }>;
  /** An object was deleted in the object store. */
  forget(object: UnusedObject): Promise<void>;
}
