import type { Readable } from 'node:stream';
import type { DestinationConfig } from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';
import type { Client } from 'minio';
import { checkDestination } from './check-destination.js';
import { readObjects, readUploads, type UploadsPage } from './listing-answer.js';
import {
  abortUpload,
  conditionally,
  md5Of,
  type MultipartUpload,
  type MultipartUploadOptions,
  PartsUpload,
  plainEtag,
} from './multipart-upload.js';
import { MARK_NAME, type ObjectEntry, type ObjectStat } from './object-stat.js';
import { classify } from './object-store-error.js';
import type {
  DestinationCheck,
  GetOptions,
  ObjectStore,
  ObjectStoreSettings,
  PutAnswer,
  PutOptions,
  WriteSettings,
} from './object-store.js';
import { withRetries } from './retry.js';
import { createClient } from './store-client.js';
import type { Transport } from './transport.js';

/** Keys of a store, or whether those of this program's environment may serve. */
type StoreKeys = Pick<
  ObjectStoreSettings,
  'accessKeyId' | 'secretAccessKey' | 'sessionToken' | 'allowEnvironmentCredentials'
>;

/**
 * Keys of a destination from the values of its Secret.
 * @param values undefined without a Secret: the keys of the environment serve, if that is allowed
 */
export function keysOfSecret(
  values: ReadonlyMap<string, string> | undefined,
  allowsEnvironment: boolean,
): StoreKeys {
  return {
    accessKeyId: values?.get('access_key_id'),
    secretAccessKey: values?.get('secret_access_key'),
    sessionToken: values?.get('session_token') || undefined,
    allowEnvironmentCredentials: values === undefined && allowsEnvironment,
  };
}

/**
 * Settings to reach a destination with these keys.
 * @param tenantId shown to the role of the destination, if it has one
 */
export function destinationSettings(
  config: DestinationConfig,
  keys: StoreKeys,
  tenantId: string,
): ObjectStoreSettings {
  const { endpointUrl, region, includeBucketInPrefix, awsRoleArn } = config;
  const { serverSideEncryption, kmsKeyId, storageClass, acl } = config;
  const { accessKeyId, secretAccessKey, sessionToken, allowEnvironmentCredentials } = keys;
  return {
    endpoint: endpointUrl,
    region,
    includeBucketInPrefix,
    written: { serverSideEncryption, kmsKeyId, storageClass, acl },
    accessKeyId,
    secretAccessKey,
    sessionToken,
    allowEnvironmentCredentials,
    ...(awsRoleArn === undefined ? {} : { role: { arn: awsRoleArn, externalId: tenantId.toLowerCase() } }),
  };
}

/** Headers of the requests that make an object: a put, and the start of an upload in parts. */
function writeHeaders(written: WriteSettings = {}): Readonly<Record<string, string>> {
  const headers = {
    'x-amz-server-side-encryption': written.serverSideEncryption,
    'x-amz-server-side-encryption-aws-kms-key-id': written.kmsKeyId,
    'x-amz-storage-class': written.storageClass,
    'x-amz-acl': written.acl,
  };
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

const DEFAULT_TIMEOUT_MS = 30_000;
const PAGE = 1000;

/**
 * Opens a store; no request is made yet.
 * @throws EndpointRefusedError on an endpoint that cannot be one or leads where it must not
 * @throws CredentialsRefusedError without credentials, unless those of the environment may be used
 */
export function openObjectStore(settings: ObjectStoreSettings, clock: Clock = systemClock): ObjectStore {
  const { client, transport } = createClient(settings, settings.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const headers = writeHeaders(settings.written);
  return new ClientObjectStore(client, transport, clock, settings.attempts ?? 4, headers);
}

/** Maximum number of open uploads of one key; more are no leftovers. */
const MAX_OPEN_UPLOADS = 20;
/**
 * Maximum number of pages of uploads. A key sorts before all keys that begin with it, so a store that
 * continues with others has answered enough.
 */
const MAX_UPLOAD_PAGES = 10;

class ClientObjectStore implements ObjectStore {
  constructor(
    private readonly client: Client,
    private readonly transport: Transport,
    private readonly clock: Clock,
    private readonly attempts: number,
    private readonly writeHeaders: Readonly<Record<string, string>>,
  ) {}

  async put(
    bucket: string,
    key: string,
    body: Buffer | string,
    { contentType = 'application/octet-stream', onlyIfAbsent = false }: PutOptions = {},
  ): Promise<PutAnswer> {
    const bytes = Buffer.from(body);
    const attempted = `put ${key} in bucket ${bucket}`;
    return this.#try(attempted, () =>
      conditionally(onlyIfAbsent, attempted, async (condition) => {
        // the client's own call would switch to its multipart upload when a body is larger than its part
        const headers = {
          'content-type': contentType,
          'content-md5': md5Of(bytes),
          ...this.writeHeaders,
          ...condition,
        };
        const request = { method: 'PUT', bucketName: bucket, objectName: key, headers };
        const response = await this.client.makeRequestAsync(request, bytes);
        response.resume();
        const encryption = response.headers['x-amz-server-side-encryption'];
        return {
          etag: plainEtag(response.headers.etag),
          ...(typeof encryption === 'string' ? { serverSideEncryption: encryption } : {}),
        };
      }),
    );
  }

  async stat(bucket: string, key: string): Promise<ObjectStat | undefined> {
    try {
      return await this.#try(`look for ${key} in bucket ${bucket}`, async () => {
        const { size, etag, lastModified, metaData } = await this.client.statObject(bucket, key);
        const mark: unknown = metaData[MARK_NAME];
        return { size, etag, lastModified, ...(typeof mark === 'string' ? { mark } : {}) };
      });
    } catch (error) {
      if (classify(error, '').code === 'NoSuchKey') return undefined;
      throw error;
    }
  }

  async get(bucket: string, key: string, { offset, length, signal }: GetOptions = {}): Promise<Readable> {
    const ask = (): Promise<Readable> =>
      offset === undefined
        ? this.client.getObject(bucket, key)
        : this.client.getPartialObject(bucket, key, offset, length);
    const attempted = `get ${key} from bucket ${bucket}`;
    if (!signal) return this.#try(attempted, ask);
    return this.#try(attempted, () => this.transport.endedBy(signal, ask), signal);
  }

  presign(bucket: string, key: string, method: 'GET' | 'HEAD', seconds: number): Promise<string> {
    return this.client.presignedUrl(method, bucket, key, seconds);
  }

  async delete(bucket: string, key: string): Promise<void> {
    await this.#try(`delete ${key} from bucket ${bucket}`, () => this.client.removeObject(bucket, key));
  }

  async *list(bucket: string, prefix: string): AsyncIterable<ObjectEntry> {
    for (let token: string | undefined; ;) {
      const query = queryText({
        'list-type': '2',
        'encoding-type': 'url',
        'max-keys': String(PAGE),
        prefix,
        'continuation-token': token,
      });
      const page = await this.#try(`list ${prefix} in bucket ${bucket}`, async () =>
        readObjects(await this.#read(bucket, query)),
      );
      yield* page.objects;
      if (page.next === undefined) return;
      token = page.next;
    }
  }

  async checkDestination(bucket: string, prefix?: string, name?: string): Promise<DestinationCheck> {
    const wanted = this.writeHeaders['x-amz-server-side-encryption'];
    return await checkDestination(this, { bucket, prefix, name, serverSideEncryption: wanted });
  }

  startMultipartUpload(
    bucket: string,
    key: string,
    options: MultipartUploadOptions = {},
  ): Promise<MultipartUpload> {
    const stat = (): Promise<ObjectStat | undefined> => this.stat(bucket, key);
    const target = { client: this.client, clock: this.clock, bucket, key, stat };
    return PartsUpload.start({ ...target, headers: this.writeHeaders }, options);
  }

  async abortUploadsOf(bucket: string, key: string): Promise<void> {
    let left = MAX_OPEN_UPLOADS;
    let from: UploadsPage['next'];
    for (let page = 0; page < MAX_UPLOAD_PAGES; page++) {
      const query = queryText({
        'max-uploads': String(PAGE),
        prefix: key,
        'key-marker': from?.keyMarker,
        'upload-id-marker': from?.uploadIdMarker,
      });
      const found = await this.#try(`list the open uploads of ${key} in bucket ${bucket}`, async () =>
        readUploads(await this.#read(bucket, `uploads&${query}`)),
      );
      for (const upload of found.uploads) {
        if (upload.key !== key) continue;
        if (left-- === 0) return;
        await this.abortUpload(bucket, key, upload.uploadId);
      }
      if (!found.next) return;
      from = found.next;
    }
  }

  /** The text of an answer about a bucket. The client's own calls parse it in time without a bound. */
  async #read(bucket: string, query: string): Promise<string> {
    const answer = await this.client.makeRequestAsync({ method: 'GET', bucketName: bucket, query });
    return Buffer.concat(await answer.toArray()).toString();
  }

  abortUpload(bucket: string, key: string, uploadId: string): Promise<void> {
    return abortUpload(this.client, this.clock, bucket, key, uploadId);
  }

  close(): void {
    this.transport.close();
  }

  #try<T>(attempted: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const retries = { clock: this.clock, attempts: this.attempts, ...(signal ? { signal } : {}) };
    return withRetries(attempted, retries, work);
  }
}

function queryText(values: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeStrictly(value)}`]))
    .join('&');
}

/** Encoding of keys that signatures require. */
function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
