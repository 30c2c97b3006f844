import type { ObjectName, StoredObjects } from '#lib/embedded-object-store';
import type { ObjectStore } from '#lib/object-store';
import { copyObject } from './copy-object.js';

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
