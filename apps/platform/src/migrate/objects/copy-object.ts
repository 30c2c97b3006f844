import { createHash } from 'node:crypto';
import type { ObjectName, StoredObjects } from '#lib/embedded-object-store';
import type { ObjectStore } from '#lib/object-store';
import { type ObjectHashes, PartHashes } from './part-hashes.js';

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
export async function copyObject(
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
