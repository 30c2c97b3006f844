import { createHash } from 'node:crypto';
import type { Clock } from '#lib/time';
import type { Client } from 'minio';
import { readUploadId } from './listing-answer.js';
import { MARK_NAME, type ObjectStat } from './object-stat.js';
import { classify, ObjectStoreError, storeSentence } from './object-store-error.js';
import { type Retries, withRetries } from './retry.js';

/** Codes by which stores refuse a condition that they do not know. Others ignore it. */
const NOT_UNDERSTOOD = new Set(['NotImplemented', 'InvalidArgument', 'InvalidRequest']);

/**
 * Writes on the condition that the key is free, and without it if the store does not understand conditions:
 * callers must be safe without, it only closes a race.
 * @param write is given the headers of the condition
 */
export async function conditionally<T>(
  isConditional: boolean,
  attempted: string,
  write: (condition: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  if (!isConditional) return write({});
  try {
    return await write({ 'if-none-match': '*' });
  } catch (error) {
    if (!NOT_UNDERSTOOD.has(classify(error, attempted).code)) throw error;
    return write({});
  }
}

/**
 * The value of `Content-MD5`. Buckets with Object Lock refuse writes without it or a newer checksum, and this is the one
 * that every store knows; it also finds bytes that were changed on their way.
 */
export function md5Of(body: Buffer): string {
  return createHash('md5').update(body).digest('base64');
}

/** The value of an ETag header without quotation marks; empty without a header. */
export function plainEtag(header: string | undefined): string {
  return (header ?? '').replace(/^W\/|"/g, '');
}

/** The code of an answer that has no result of the upload. */
const UNCLEAR = 'NotAnObjectStore';

/**
 * Maximum length of an answer. It has a few hundred letters; the author of the endpoint may send megabytes.
 */
const MAX_LETTERS = 64 << 10;

/**
 * Reads a store's answer about a completed upload: it may begin with 200 before it knows that it fails. Any
 * XML with an ETag and no error is a result, since some stores give its root another name. An answer that is
 * neither a result nor an error with a code has the code `NotAnObjectStore`: it is unknown whether an object
 * exists.
 */
export function readCompletion(answer: string): {
  readonly code?: string;
  readonly sentence?: string | undefined;
  readonly etag: string;
} {
  // blanks keep the connection, before or after the declaration
  const text = answer
    .trimStart()
    .replace(/^<\?xml[^>]{0,200}\?>\s*/, '')
    .slice(0, MAX_LETTERS);
  const error = text.search(/<Error[\s>]/);
  if (error >= 0) {
    const code = /<Code>(\w{1,64})<\/Code>/.exec(text.slice(error))?.[1];
    return { code: code ?? UNCLEAR, sentence: storeSentence(text.slice(error), {}), etag: '' };
  }
  const etag = /<ETag>(?:&quot;|&#34;|")?([^<&"]{1,1024})/.exec(text)?.[1] ?? '';
  const isResult = /^<CompleteMultipartUploadResult[\s>]/.test(text) || (etag !== '' && !isPage(text));
  return isResult ? { etag } : { code: UNCLEAR, etag: '' };
}

function isPage(text: string): boolean {
  return !text.startsWith('<') || /^<(?:!doctype|html)/i.test(text);
}

const MIN_PART_BYTES = 5 << 20;
const MAX_PARTS = 10_000;
const PART_ATTEMPTS = 6;
/** Letters of an upload's id; stores have some hundreds. */
const MAX_ID = 4_096;

export interface MultipartUploadOptions {
  /** Bytes of every part but the last, at least 5 MiB. Default 8 MiB; times 10,000 it bounds the object. */
  readonly partBytes?: number;
  /** Parts on the wire at once; the upload holds one buffer more. Default 2. */
  readonly inFlight?: number;
  readonly contentType?: string;
  /** Completing fails with `PreconditionFailed` when the key exists (on stores that understand it). */
  readonly onlyIfAbsent?: boolean;
  /** Kept with the object, and found by `stat`: so it can be distinguished from any other object of the key. Unique. */
  readonly mark?: string;
  readonly signal?: AbortSignal;
}

/** Result of an upload. */
export interface CompletedUpload {
  readonly size: number;
  readonly etag: string;
  /**
   * False when reading is refused, and nothing of the object was compared; and when the store keeps no marks:
   * then size and etag are those of the upload.
   */
  readonly isVerified: boolean;
}

/** One object in the making: write bytes, then complete or abort. */
export interface MultipartUpload {
  readonly uploadId: string;
  /** Copies the bytes. Resolves when more can be buffered; rejects when a part has failed for good. */
  write(chunk: Buffer): Promise<void>;
  /**
   * Sends the rest, completes, and compares size and mark of the object with the written ones, if the key may
   * read. After `PreconditionFailed` it may be called again.
   * @param options.replace any object at the key, in spite of `onlyIfAbsent`
   * @throws ObjectStoreError `SizeMismatch` or `ObjectReplaced` when another object is found
   */
  complete(options?: { replace?: boolean }): Promise<CompletedUpload>;
  /** Throws the parts away; safe after any failure, and after `complete`, when it does nothing. */
  abort(): Promise<void>;
}

interface UploadTarget {
  readonly client: Client;
  readonly clock: Clock;
  readonly bucket: string;
  readonly key: string;
  /** Headers of the request that starts it. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Undefined when there is no such object. */
  stat(): Promise<ObjectStat | undefined>;
}

interface SentPart {
  readonly part: number;
  readonly etag: string;
}

/**
 * The client's own streaming upload holds parts of 530 MB, retries no reset, aborts nothing and never settles when its
 * source fails; so the parts are counted here, and only its single requests are used.
 */
export class PartsUpload implements MultipartUpload {
  readonly #retries: Retries;
  readonly #partBytes: number;
  readonly #parts: SentPart[] = [];
  readonly #sending = new Set<Promise<void>>();
  readonly #free: Buffer[] = [];
  #current: Buffer | undefined;
  #filled = 0;
  #nextPart = 1;
  #size = 0;
  #failure: ObjectStoreError | Error | undefined;
  /** True when a completion was sent: it may have happened even if its answer was lost. */
  #isSent = false;
  #isCompleted = false;

  private constructor(
    private readonly target: UploadTarget,
    private readonly options: MultipartUploadOptions,
    readonly uploadId: string,
  ) {
    this.#partBytes = Math.max(MIN_PART_BYTES, options.partBytes ?? 8 << 20);
    this.#retries = {
      clock: target.clock,
      attempts: PART_ATTEMPTS,
      ...(options.signal ? { signal: options.signal } : {}),
    };
  }

  static async start(target: UploadTarget, options: MultipartUploadOptions): Promise<PartsUpload> {
    const { client, clock, bucket, key } = target;
    const headers = {
      ...target.headers,
      'content-type': options.contentType ?? 'application/octet-stream',
      ...(options.mark === undefined ? {} : { [`x-amz-meta-${MARK_NAME}`]: options.mark }),
    };
    const retries = {
      clock,
      attempts: PART_ATTEMPTS,
      ...(options.signal ? { signal: options.signal } : {}),
      // not repeated after a lost answer: that would leave an upload without a record
      isWorthwhile: (failure: ObjectStoreError) => failure.isWithoutEffect,
    };
    const request = { method: 'POST', bucketName: bucket, objectName: key, query: 'uploads', headers };
    const id = await withRetries(`start an upload of ${key} to bucket ${bucket}`, retries, async () => {
      const answer = await client.makeRequestAsync({ ...request, headers: { ...headers } });
      return readUploadId(Buffer.concat(await answer.toArray()).toString());
    });
    // it is noted in the database at every heartbeat
    if (id.length > MAX_ID) throw new ObjectStoreError('NotAnObjectStore', `start an upload of ${key}`);
    return new PartsUpload(target, options, id);
  }

  async write(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length;) {
      this.#throwFailure();
      const part = (this.#current ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#partBytes));
      const copied = chunk.copy(part, this.#filled, at);
      at += copied;
      this.#filled += copied;
      this.#size += copied;
      if (this.#filled === part.length) await this.#sendCurrent();
    }
  }

  async complete({ replace = false }: { replace?: boolean } = {}): Promise<CompletedUpload> {
    // an object without parts cannot be completed, so an empty one has one empty part
    if (this.#filled > 0 || this.#nextPart === 1) await this.#sendCurrent();
    await Promise.all(this.#sending);
    this.#throwFailure();
    this.#parts.sort((a, b) => a.part - b.part);
    const { bucket, key } = this.target;
    const etag = await withRetries(`complete the upload of ${key} to bucket ${bucket}`, this.#retries, () =>
      this.#requestCompletion(!replace && (this.options.onlyIfAbsent ?? false)),
    );
    this.#isCompleted = true;
    return { size: this.#size, etag, isVerified: await this.#verify(etag) };
  }

  async abort(): Promise<void> {
    this.#failure ??= new Error('the upload was aborted');
    await Promise.all(this.#sending);
    if (this.#isCompleted) return;
    const { client, clock, bucket, key } = this.target;
    await abortUpload(client, clock, bucket, key, this.uploadId);
  }

  #throwFailure(): void {
    this.options.signal?.throwIfAborted();
    if (this.#failure) throw this.#failure;
  }

  async #sendCurrent(): Promise<void> {
    const buffer = this.#current ?? Buffer.alloc(0);
    const body = buffer.subarray(0, this.#filled);
    this.#current = undefined;
    this.#filled = 0;
    const part = this.#nextPart++;
    if (part > MAX_PARTS)
      throw new ObjectStoreError('EntityTooLarge', `send part ${part} of ${this.target.key}`);
    const sending: Promise<void> = this.#sendPart(part, body)
      .catch((error: unknown) => {
        this.#failure ??= error instanceof Error ? error : classify(error, `send part ${part}`);
      })
      .finally(() => {
        this.#sending.delete(sending);
        if (buffer.length > 0) this.#free.push(buffer);
      });
    this.#sending.add(sending);
    while (this.#sending.size >= (this.options.inFlight ?? 2)) await Promise.race(this.#sending);
  }

  async #sendPart(part: number, body: Buffer): Promise<void> {
    const { client, bucket, key } = this.target;
    const query = `uploadId=${encodeURIComponent(this.uploadId)}&partNumber=${part}`;
    const request = { method: 'PUT', bucketName: bucket, objectName: key, query };
    const attempted = `send part ${part} of ${key} to bucket ${bucket}`;
    const headers = { 'content-md5': md5Of(body) };
    await withRetries(attempted, this.#retries, async () => {
      const answer = await client.makeRequestAsync({ ...request, headers: { ...headers } }, body);
      answer.resume();
      this.#parts.push({ part, etag: plainEtag(answer.headers.etag) });
    });
  }

  async #requestCompletion(onlyIfAbsent: boolean): Promise<string> {
    const isRepeated = this.#isSent;
    this.#isSent = true;
    const attempted = `complete the upload of ${this.target.key}`;
    try {
      return await conditionally(onlyIfAbsent, attempted, (condition) => this.#sendCompletion(condition));
    } catch (error) {
      const failure = classify(error, attempted);
      const isRefused = failure.isWithoutEffect || failure.code === 'PreconditionFailed';
      // a store may end the upload with its refusal: a missing upload then does not mean that it was
      // completed
      if (isRefused) this.#isSent = isRepeated;
      const isUnclear = failure.code === UNCLEAR;
      const mayBeDone =
        isUnclear ||
        (isRepeated && (failure.code === 'NoSuchUpload' || failure.code === 'PreconditionFailed'));
      const done = mayBeDone ? await this.#findDone(failure) : undefined;
      if (done !== undefined) return done;
      // without an object, or the right to look: the upload itself shows whether it was completed
      if (isUnclear && !isRepeated) return await this.#requestCompletion(onlyIfAbsent);
      throw failure;
    }
  }

  /**
   * The etag of the object when an earlier completion, whose answer was lost, has made it. Without the right
   * to look, an upload that is gone was completed: no other client ends it.
   */
  async #findDone(failure: ObjectStoreError): Promise<string | undefined> {
    try {
      return (await this.#findOwnObject())?.etag;
    } catch (error) {
      if (classify(error, '').code !== 'AccessDenied') throw error;
      return failure.code === 'NoSuchUpload' ? this.#expectedEtag() : undefined;
    }
  }

  async #sendCompletion(condition: Readonly<Record<string, string>>): Promise<string> {
    const { client, bucket, key } = this.target;
    const body = this.#parts
      .map(({ part, etag }) => `<Part><PartNumber>${part}</PartNumber><ETag>"${etag}"</ETag></Part>`)
      .join('');
    const request = {
      method: 'POST',
      bucketName: bucket,
      objectName: key,
      query: `uploadId=${encodeURIComponent(this.uploadId)}`,
      headers: { ...condition },
    };
    const response = await client.makeRequestAsync(
      request,
      `<CompleteMultipartUpload>${body}</CompleteMultipartUpload>`,
    );
    const { code, sentence, etag } = readCompletion(Buffer.concat(await response.toArray()).toString());
    if (code !== undefined) throw new ObjectStoreError(code, `complete the upload of ${key}`, { sentence });
    return etag;
  }

  /** The answer to an earlier completion was lost: the object exists, and is it ours? */
  async #findOwnObject(): Promise<ObjectStat | undefined> {
    const found = await this.target.stat();
    if (found?.mark !== undefined) return found.mark === this.options.mark ? found : undefined;
    return found?.size === this.#size && this.#isOwnEtag(found.etag, '') ? found : undefined;
  }

  /** True when an object without a mark may be the upload's. */
  #isOwnEtag(found: string, answered: string): boolean {
    const expected = this.#expectedEtag();
    return expected === '' || found === expected || (answered !== '' && found === answered);
  }

  /** Etag that stores make of the MD5 of each part; empty when theirs are something else. */
  #expectedEtag(): string {
    const md5s = Buffer.concat(this.#parts.map(({ etag }) => Buffer.from(etag, 'hex')));
    if (md5s.length !== 16 * this.#parts.length) return '';
    return `${createHash('md5').update(md5s).digest('hex')}-${this.#parts.length}`;
  }

  /**
   * @param etag of the answer to the completion
   * @returns false when it may not look: reading is a recommended permission, not a required one
   */
  async #verify(etag: string): Promise<boolean> {
    const { key } = this.target;
    let found: ObjectStat | undefined;
    try {
      found = await this.target.stat();
    } catch (error) {
      if (classify(error, '').code === 'AccessDenied') return false;
      throw error;
    }
    if (found?.size !== this.#size)
      throw new ObjectStoreError(
        'SizeMismatch',
        `verify ${key}: ${this.#size} bytes written, ${found?.size ?? 'none'} stored`,
      );
    const { mark } = this.options;
    if (mark === undefined || found.mark === mark) return true;
    // some stores keep nothing that users add to objects
    if (found.mark !== undefined || !this.#isOwnEtag(found.etag, etag))
      throw new ObjectStoreError('ObjectReplaced', `verify ${key}`);
    return false;
  }
}

/**
 * Throws away the parts of an upload. An upload that does not exist is no error, nor a store that does not abort: the
 * permission is optional, and some stores have no such operation.
 */
export async function abortUpload(
  client: Client,
  clock: Clock,
  bucket: string,
  key: string,
  uploadId: string,
): Promise<void> {
  try {
    await withRetries(`abort the upload of ${key} to bucket ${bucket}`, { clock, attempts: 3 }, () =>
      client.abortMultipartUpload(bucket, key, encodeURIComponent(uploadId)),
    );
  } catch (error) {
    const { code, isWithheld } = classify(error, '');
    if (code !== 'NoSuchUpload' && code !== 'NoSuchKey' && !isWithheld) throw error;
  }
}
