import type { Readable } from 'node:stream';
import type { DestinationConfig } from '#lib/resources';
import type { MultipartUpload, MultipartUploadOptions } from './multipart-upload.js';
import type { ObjectEntry, ObjectStat } from './object-stat.js';

/** Address and credentials of a store. */
export interface ObjectStoreSettings {
  /** Absolute http or https URL; absent: AWS, found by `region`. */
  readonly endpoint?: string;
  readonly region?: string;
  /** Credentials; absent: the environment's own, if `allowEnvironmentCredentials`. */
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
  /**
   * True when the credentials of this program (environment variables, role of the pod or machine) are used.
   * Default false.
   */
  readonly allowEnvironmentCredentials?: boolean;
  /** Assumed by the credentials above, which then write nothing themselves. */
  readonly role?: RoleToAssume;
  /** Settings with which every object is written. */
  readonly written?: WriteSettings;
  /** False when the endpoint's host already names the bucket. Default true. */
  readonly includeBucketInPrefix?: boolean;
  /** True when the endpoint may be in a private network or on this machine. Default false. */
  readonly allowPrivateEndpoints?: boolean;
  /** Longest silence of a connection in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** Number of tries of a request when the store is busy or a connection breaks. Default 4. */
  readonly attempts?: number;
}

/** A role of AWS. */
export interface RoleToAssume {
  readonly arn: string;
  /**
   * Id of the tenant, never a text that its users choose: a role that demands it cannot be assumed for another tenant, though
   * the platform assumes all of them by the same credentials.
   */
  readonly externalId: string;
}

/** Settings with which an object is written, in the words of S3; the defaults of the bucket when absent. */
export type WriteSettings = Pick<
  DestinationConfig,
  'serverSideEncryption' | 'kmsKeyId' | 'storageClass' | 'acl'
>;

/** The interface's own words for a destination that cannot be used. */
export type DestinationMessage =
  'Access denied' | 'Bucket is not valid' | 'Key ID you provided does not exist' | 'Invalid endpoint';

/** Result of a test of a destination. */
export type DestinationCheck =
  | {
      readonly kind: 'usable';
      /** The test object could be deleted again; otherwise it stays under `<prefix>/tmp/`. */
      readonly canDelete: boolean;
      /** Sizes of written files can be verified. */
      readonly canRead: boolean;
      /** The requested encryption is not in the store's answer: it may have ignored the header. */
      readonly isEncryptionUnconfirmed?: true;
    }
  | {
      readonly kind: 'refused';
      readonly message: DestinationMessage;
      /** The store's own code or the network's, without secrets; for logs and conditions. */
      readonly detail: string;
      /** The cause for people: code and sentence of the store, the problem of the endpoint, the remedy. */
      readonly advice: string;
      /** True when the store could not be reached or was overloaded: testing again later may help. */
      readonly retryable: boolean;
    };

export interface PutOptions {
  readonly contentType?: string;
  /** Fails with `PreconditionFailed` when the key exists (on stores that understand it). */
  readonly onlyIfAbsent?: boolean;
}

/** The store's answer to a put. */
export interface PutAnswer {
  readonly etag: string;
  /** Encryption that the object was written with, if the store names it. */
  readonly serverSideEncryption?: string;
}

export interface GetOptions {
  /** Bytes from here on. Absent: all. */
  readonly offset?: number;
  /** Number of bytes from `offset` on. */
  readonly length?: number;
  /** Ends the request, and the stream that came of it, at any time. */
  readonly signal?: AbortSignal;
}

/** A store for objects. Errors are `ObjectStoreError`; nothing follows redirects. */
export interface ObjectStore {
  put(bucket: string, key: string, body: Buffer | string, options?: PutOptions): Promise<PutAnswer>;
  /** Undefined when there is no such object. */
  stat(bucket: string, key: string): Promise<ObjectStat | undefined>;
  /** The object's bytes. */
  get(bucket: string, key: string, options?: GetOptions): Promise<Readable>;
  /** URL with which anybody may read the object for so long. */
  presign(bucket: string, key: string, method: 'GET' | 'HEAD', seconds: number): Promise<string>;
  /** No error when there is no such object. */
  delete(bucket: string, key: string): Promise<void>;
  /** Objects in key order. */
  list(bucket: string, prefix: string): AsyncIterable<ObjectEntry>;
  /**
   * Writes and deletes `<prefix>/tmp/NAME.txt`, by default of a random name. Failures of the destination are
   * not thrown.
   */
  checkDestination(bucket: string, prefix?: string, name?: string): Promise<DestinationCheck>;
  /** Begins an upload of unknown length. The caller must `complete` or `abort` it. */
  startMultipartUpload(
    bucket: string,
    key: string,
    options?: MultipartUploadOptions,
  ): Promise<MultipartUpload>;
  /** Throws away the parts of an upload that was left open. No error when there is no such upload. */
  abortUpload(bucket: string, key: string, uploadId: string): Promise<void>;
  /** Throws away every open upload of this very key; for one whose id was lost on the way. Needs the right to list uploads. */
  abortUploadsOf(bucket: string, key: string): Promise<void>;
  /** Ends idle connections. */
  close(): void;
}
