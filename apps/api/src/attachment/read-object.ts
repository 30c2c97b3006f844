import { Readable } from 'node:stream';
import { PublicError } from '#lib/errors';
import { ObjectStoreError } from '#lib/object-store';
import type { StoredAttachment } from '#lib/trace-store';
import type { AttachmentStore } from '../core/attachment-store.js';

/** Bytes of an object of a workspace. @throws PublicError unavailable */
export async function readObject(
  { downloads, bucket, keyOf }: AttachmentStore,
  tenantId: string,
  { objectId, size }: Pick<StoredAttachment, 'objectId' | 'size'>,
  signal: AbortSignal,
): Promise<Readable> {
  try {
    const stored = await downloads.get(bucket, keyOf(tenantId, objectId), { signal });
    return Readable.from(whole(stored, size), { objectMode: false });
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    const why = error.code === 'NoSuchKey' ? 'its object is missing in the object store' : 'try again';
    throw new PublicError('unavailable', `Reading the object failed: ${why}`, [], { cause: error });
  }
}

/** Ends with an error when bytes are missing, so that the answer is cut and not taken for the whole. */
async function* whole(stored: Readable, size: number): AsyncGenerator<Buffer, void, void> {
  let length = 0;
  for await (const piece of stored as AsyncIterable<Buffer>) {
    length += piece.length;
    yield piece;
  }
  if (length !== size) throw new Error(`an object of ${size} bytes has ${length} in the object store`);
}
