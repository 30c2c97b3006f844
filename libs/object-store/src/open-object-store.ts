import type { Readable } from 'node:stream';
import type { Client } from 'minio';
import { systemClock, type Clock } from '#lib/time';
import { checkDestination } from './check-destination.js';
import {
  abortUpload,
  type MultipartUpload,
  type MultipartUploadOptions,
  PartsUpload,
} from './multipart-upload.js';
import { conditionally } from './conditional-write.js';
import { MARK_NAME, type ObjectEntry, type ObjectStat } from './object-stat.js';
import { classify } from './object-store-error.js';
import type {
  DestinationCheck,
  GetOptions,
  ObjectStore,
  ObjectStoreSettings,
  PutOptions,
} from './object-store.js';
import { withRetries } from './retry.js';
import { createClient } from './store-client.js';
import type { Transport } from './transport.js';

const DEFAULT_TIMEOUT_MS = 30_000;
const PAGE = 1000;

/**
 * Opens a store; no request is made yet.
 * @throws EndpointRefusedError on an endpoint that cannot be one or leads where it must not
 * @throws CredentialsRefusedError without credentials, unless those of the environment may be used
 */
export function openObjectStore(settings: ObjectStoreSettings, clock: Clock = systemClock): ObjectStore {
  const { client, transport } = createClient(settings, settings.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  return new ClientObjectStore(client, transport, clock, settings.attempts ?? 4);
}

/** More open uploads of one key than this are no leftovers. */
const MAX_OPEN_UPLOADS = 20;
/** A key stands before all that it begins; a store that goes on with others has told enough. */
const MAX_UPLOAD_PAGES = 10;

class ClientObjectStore implements ObjectStore {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #attempts: number;

  constructor(client: Client, transport: Transport, clock: Clock, attempts: number) {
    this.#client = client;
    this.#transport = transport;
    this.#clock = clock;
    this.#attempts = attempts;
  }

  async put(
    bucket: string,
    key: string,
    body: Buffer | string,
    { contentType = 'application/octet-stream', onlyIfAbsent = false }: PutOptions = {},
  ): Promise<{ etag: string }> {
    const bytes = Buffer.from(body);
    const attempted = `put ${key} in bucket ${bucket}`;
    return this.#try(attempted, () =>
      conditionally(onlyIfAbsent, attempted, async (condition) => {
        // the client's own call would switch to its multipart upload when a body is larger than its part
        const headers = { 'content-type': contentType, ...condition };
        const request = { method: 'PUT', bucketName: bucket, objectName: key, headers };
        const response = await this.#client.makeRequestAsync(request, bytes);
        response.resume();
        return { etag: plainEtag(response.headers.etag) };
      }),
    );
  }

  async stat(bucket: string, key: string): Promise<ObjectStat | undefined> {
    try {
      return await this.#try(`look for ${key} in bucket ${bucket}`, async () => {
        const { size, etag, lastModified, metaData } = await this.#client.statObject(bucket, key);
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
        ? this.#client.getObject(bucket, key)
        : this.#client.getPartialObject(bucket, key, offset, length);
    const attempted = `get ${key} from bucket ${bucket}`;
    if (!signal) return this.#try(attempted, ask);
    return this.#try(attempted, () => this.#transport.endedBy(signal, ask), signal);
  }

  async delete(bucket: string, key: string): Promise<void> {
    await this.#try(`delete ${key} from bucket ${bucket}`, () => this.#client.removeObject(bucket, key));
  }

  async *list(bucket: string, prefix: string): AsyncIterable<ObjectEntry> {
    for (let token = ''; ;) {
      const page = await this.#try(`list ${prefix} in bucket ${bucket}`, () =>
        this.#client.listObjectsV2Query(bucket, prefix, token, '', PAGE, ''),
      );
      for (const item of page.objects) {
        if (item.name === undefined) continue;
        yield { key: item.name, size: item.size, etag: item.etag, lastModified: item.lastModified };
      }
      if (!page.isTruncated) return;
      token = page.nextContinuationToken;
    }
  }

  checkDestination(bucket: string, prefix?: string, name?: string): Promise<DestinationCheck> {
    return checkDestination(this, bucket, prefix, name);
  }

  startMultipartUpload(
    bucket: string,
    key: string,
    options: MultipartUploadOptions = {},
  ): Promise<MultipartUpload> {
    const stat = (): Promise<ObjectStat | undefined> => this.stat(bucket, key);
    return PartsUpload.start({ client: this.#client, clock: this.#clock, bucket, key, stat }, options);
  }

  async abortUploadsOf(bucket: string, key: string): Promise<void> {
    let left = MAX_OPEN_UPLOADS;
    let [keyMarker, uploadIdMarker] = ['', ''];
    for (let page = 0; page < MAX_UPLOAD_PAGES; page++) {
      // not the client's own search: that goes on for as long as a store says that there is more
      const found = await this.#try(`list the open uploads of ${key} in bucket ${bucket}`, () =>
        this.#client.listIncompleteUploadsQuery(bucket, key, keyMarker, uploadIdMarker, ''),
      );
      for (const upload of found.uploads.filter((one) => one.key === key)) {
        if (left-- === 0) return;
        await this.abortUpload(bucket, key, upload.uploadId);
      }
      if (!found.isTruncated) return;
      ({ nextKeyMarker: keyMarker, nextUploadIdMarker: uploadIdMarker } = found);
    }
  }

  abortUpload(bucket: string, key: string, uploadId: string): Promise<void> {
    return abortUpload(this.#client, this.#clock, bucket, key, uploadId);
  }

  close(): void {
    this.#transport.close();
  }

  #try<T>(attempted: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const retries = { clock: this.#clock, attempts: this.#attempts, ...(signal ? { signal } : {}) };
    return withRetries(attempted, retries, work);
  }
}

function plainEtag(header: string | undefined): string {
  return (header ?? '').replace(/^W\/|"/g, '');
}
