import { classify, ObjectStoreError } from './object-store-error.js';
import type { ObjectStore } from './object-store.js';

/**
 * The bytes of a small object. The author of the endpoint may send more than the object has, without end.
 * @returns undefined when there is no such object
 * @throws ObjectStoreError `EntityTooLarge` beyond the limit
 */
export async function readObject(
  store: Pick<ObjectStore, 'get'>,
  bucket: string,
  key: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const attempted = `get ${key} from bucket ${bucket}`;
  const pieces: Buffer[] = [];
  let left = maxBytes;
  try {
    for await (const piece of (await store.get(bucket, key)) as AsyncIterable<Buffer>) {
      left -= piece.length;
      if (left < 0) throw new ObjectStoreError('EntityTooLarge', `${attempted}, up to ${maxBytes} bytes`);
      pieces.push(piece);
    }
  } catch (thrown) {
    const error = classify(thrown, attempted);
    if (error.code === 'NoSuchKey') return undefined;
    throw error;
  }
  return Buffer.concat(pieces);
}
