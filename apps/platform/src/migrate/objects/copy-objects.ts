import { createHash, type Hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ObjectName, StoredObjects } from '#lib/embedded-object-store';
import type { ObjectStore, ObjectStoreSettings } from '#lib/object-store';

/** Hashes of an object's bytes, which are the same at a store and before the copy. */
interface ObjectHashes {
  readonly bytes: number;
  /**
   * ETag that stores give an object that came in parts of this size, or at once where it fits into one part.
   */
  readonly etag: string;
  readonly sha256: string;
}

/** Hashes the bytes of an object as stores do: each part for itself, and then the parts. */
export class PartHashes {
  readonly #whole = createHash('sha256');
  readonly #parts: Buffer[] = [];
  #part: Hash = createHash('md5');
  #filled = 0;
  #bytes = 0;

  constructor(private readonly partBytes: number) {}

  add(chunk: Buffer): void {
    this.#whole.update(chunk);
    this.#bytes += chunk.length;
    for (let at = 0; at < chunk.length;) {
      const piece = chunk.subarray(at, at + this.partBytes - this.#filled);
      this.#part.update(piece);
      at += piece.length;
      this.#filled += piece.length;
      if (this.#filled === this.partBytes) this.#endPart();
    }
  }

  finish(): ObjectHashes {
    const isOnePart = this.#bytes <= this.partBytes;
    if (this.#filled > 0 || this.#parts.length === 0) this.#endPart();
    const etag = isOnePart
      ? (this.#parts[0] ?? Buffer.alloc(0)).toString('hex')
      : `${createHash('md5').update(Buffer.concat(this.#parts)).digest('hex')}-${this.#parts.length}`;
    return { bytes: this.#bytes, etag, sha256: this.#whole.digest('hex') };
  }

  #endPart(): void {
    this.#parts.push(this.#part.digest());
    this.#part = createHash('md5');
    this.#filled = 0;
  }
}

/** Larger objects are sent in parts of this size; it is also what a copy holds of an object at a time. */
const PART_BYTES = 8 << 20;
/** Maximum number of parts that stores take of one object. */
const MAX_PARTS = 10_000;
const READ_BYTES = 1 << 20;

export interface ObjectTarget {
  readonly store: Pick<ObjectStore, 'put' | 'stat' | 'get' | 'startMultipartUpload' | 'abortUploadsOf'>;
  readonly bucket: string;
}

export type ObjectOutcome =
  | { readonly kind: 'copied' | 'present'; readonly bytes: number }
  /** Deleted from the source since it was listed. */
  | { readonly kind: 'deleted' };

type Source = NonNullable<Awaited<ReturnType<StoredObjects['open']>>>;

/**
 * Copies one object under its key, if the key is free, and proves that the bytes arrived: by the store's name
 * of their content, or, where it does not follow from the content, by reading them back.
 * @throws Error when another object has the key, or the bytes there are not those that were sent
 */
async function copyObject(
  objects: StoredObjects,
  name: ObjectName,
  { store, bucket }: ObjectTarget,
): Promise<ObjectOutcome> {
  const source = await objects.open(name);
  if (!source) return { kind: 'deleted' };
  try {
    const { key } = name;
    const found = await store.stat(bucket, key);
    if (found) {
      const hashes = found.size === source.size ? await hashesOf(source, found.etag) : undefined;
      if (!hashes || !(await isSame(store, bucket, key, hashes, found.etag)))
        throw new Error(
          `copying ${key} failed: bucket ${bucket} has another object of that key; delete it there, or copy into another bucket`,
        );
      return { kind: 'present', bytes: source.size };
    }
    const { hashes, etag } =
      source.size <= PART_BYTES
        ? await putWhole(source, key, { store, bucket })
        : await sendParts(source, key, { store, bucket });
    if (!(await isSame(store, bucket, key, hashes, etag)))
      throw new Error(
        `copying ${key} failed: bucket ${bucket} has other bytes than were sent; delete the object there and repeat`,
      );
    return { kind: 'copied', bytes: hashes.bytes };
  } finally {
    await source.handle.close();
  }
}

async function* chunksOf({ handle, size }: Source): AsyncGenerator<Buffer> {
  if (size > 0)
    yield* handle.createReadStream({ autoClose: false, start: 0, end: size - 1, highWaterMark: READ_BYTES });
}

/** @param etag of the object in the store: it has the number of parts, and so their size */
async function hashesOf(source: Source, etag: string): Promise<ObjectHashes> {
  const isOnePart = !etag.includes('-');
  const hashes = new PartHashes(isOnePart ? Math.max(1, source.size) : partBytesOf(source.size));
  for await (const chunk of chunksOf(source)) hashes.add(chunk);
  return hashes.finish();
}

function partBytesOf(bytes: number): number {
  return Math.max(PART_BYTES, Math.ceil(bytes / MAX_PARTS));
}

interface Sent {
  readonly hashes: ObjectHashes;
  readonly etag: string;
}

async function putWhole(source: Source, key: string, { store, bucket }: ObjectTarget): Promise<Sent> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(source)) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const hashes = new PartHashes(PART_BYTES);
  hashes.add(body);
  const { etag } = await store.put(bucket, key, body, { ...typeOf(source), onlyIfAbsent: true });
  return { hashes: hashes.finish(), etag };
}

async function sendParts(source: Source, key: string, { store, bucket }: ObjectTarget): Promise<Sent> {
  // uploads of a copy that was killed: no other program knows their ids
  await store.abortUploadsOf(bucket, key);
  const partBytes = partBytesOf(source.size);
  const hashes = new PartHashes(partBytes);
  const upload = await store.startMultipartUpload(bucket, key, {
    ...typeOf(source),
    partBytes,
    onlyIfAbsent: true,
  });
  try {
    for await (const chunk of chunksOf(source)) {
      hashes.add(chunk);
      await upload.write(chunk);
    }
    const { etag } = await upload.complete();
    return { hashes: hashes.finish(), etag };
  } catch (error) {
    await upload.abort().catch(() => undefined);
    throw error;
  }
}

function typeOf({ headers }: Source): { readonly contentType?: string } {
  const contentType = headers['content-type'];
  return contentType === undefined ? {} : { contentType };
}

async function isSame(
  store: ObjectTarget['store'],
  bucket: string,
  key: string,
  { bytes, etag, sha256 }: ObjectHashes,
  found: string,
): Promise<boolean> {
  if (found === etag) return true;
  // stores that encrypt with keys of their own name objects otherwise
  const hash = createHash('sha256');
  let read = 0;
  for await (const chunk of await store.get(bucket, key)) {
    const piece = chunk as Buffer;
    hash.update(piece);
    read += piece.length;
  }
  return read === bytes && hash.digest('hex') === sha256;
}

type Member = 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken';

/** Names of the file's members, and what they are to a client. */
const MEMBERS: Readonly<Record<string, Member>> = {
  endpoint_url: 'endpoint',
  region: 'region',
  access_key_id: 'accessKeyId',
  secret_access_key: 'secretAccessKey',
  session_token: 'sessionToken',
};

/**
 * Settings for reaching a store, from a JSON file that its owner wrote. Without keys those of the environment
 * are used.
 * @throws Error that names the file and the member, never a value
 */
export function readStoreFile(file: string): ObjectStoreSettings {
  const found: unknown = parse(file);
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new Error(`${file} must be a JSON object with ${Object.keys(MEMBERS).join(', ')}`);
  const settings: Partial<Record<Member, string>> = {};
  for (const [name, value] of Object.entries(found)) {
    const member = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
    if (member === undefined)
      throw new Error(`${file} has the unknown member ${name}; use ${Object.keys(MEMBERS).join(', ')}`);
    if (typeof value !== 'string' || value === '') throw new Error(`${name} in ${file} must be a text`);
    settings[member] = value;
  }
  const hasKeys = settings.accessKeyId !== undefined;
  return {
    ...settings,
    allowPrivateEndpoints: true,
    ...(hasKeys ? {} : { allowEnvironmentCredentials: true }),
  };
}

function parse(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    // its own message repeats the text of the file
    throw new Error(`${file} is not JSON`);
  }
}

/** Small objects are mostly waiting for answers. */
const AT_ONCE = 8;

export interface CopyOptions {
  readonly store: ObjectStore;
  /** The bucket there for one of the source; undefined: it is not copied. */
  readonly bucketFor: (bucket: string) => string | undefined;
  /** Is told after each object. */
  readonly progress: (counts: ObjectCounts) => void;
}

export interface ObjectCounts {
  readonly copied: number;
  readonly copiedBytes: number;
  /** Number of objects that were there already, with the same bytes. */
  readonly present: number;
}

/**
 * Copies objects in the order of their keys, several at a time. A failed object ends the copy after those in
 * flight; a repeated copy compares the objects that exist, and continues.
 */
export async function copyObjects(
  objects: StoredObjects,
  { store, bucketFor, progress }: CopyOptions,
): Promise<ObjectCounts> {
  const listed = objects.list();
  let counts: ObjectCounts = { copied: 0, copiedBytes: 0, present: 0 };
  const failures: unknown[] = [];
  const copyOne = async (name: ObjectName, bucket: string): Promise<void> => {
    const outcome = await copyObject(objects, name, { store, bucket });
    if (outcome.kind === 'deleted') return;
    const { copied, copiedBytes, present } = counts;
    counts =
      outcome.kind === 'present'
        ? { ...counts, present: present + 1 }
        : { ...counts, copied: copied + 1, copiedBytes: copiedBytes + outcome.bytes };
    progress(counts);
  };
  const work = async (): Promise<void> => {
    while (failures.length === 0) {
      // an async generator serves one step at a time, in order
      const { done, value } = await listed.next();
      if (done) return;
      const bucket = bucketFor(value.bucket);
      if (bucket !== undefined) await copyOne(value, bucket);
    }
  };
  await Promise.all(
    Array.from({ length: AT_ONCE }, () =>
      work().catch((error: unknown) => {
        failures.push(error);
      }),
    ),
  );
  if (failures.length > 0) throw failures[0];
  return counts;
}
