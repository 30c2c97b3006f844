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
