import { addressOfRun, partKey } from '#lib/export-plan';
import { ObjectStoreError, type ObjectStore } from '#lib/object-store';
import type { BulkExportRunSpec } from '#lib/resources';
import { type ExportIntent, finishedFile, type FinishedFile } from '#lib/trace-store';

/** Result of clearing away the object that an ended run had begun. */
export interface ClearedUpload {
  /** The finished object, where the key may not delete it: it stays in the bucket, and is counted. */
  readonly left: FinishedFile | undefined;
}

/**
 * Aborts the upload that an intent names, and deletes the object that it became. Touches nothing else: the key must be
 * the one that this run's part has, which holds the id of the export, and an object must carry the mark of the intent.
 * @throws ObjectStoreError when the store cannot be reached or refuses the credentials
 */
export async function clearUpload(
  spec: BulkExportRunSpec,
  intent: ExportIntent,
  store: ObjectStore,
): Promise<ClearedUpload> {
  const { bucketName } = spec.destination.config;
  if (intent.key !== partKey(addressOfRun(spec, intent.resource), intent.part + 1))
    return { left: undefined };
  // first, so that what is found afterwards stays as it is
  if (intent.uploadId === undefined) await permitted(store.abortUploadsOf(bucketName, intent.key));
  else await store.abortUpload(bucketName, intent.key, intent.uploadId);
  const found = await permitted(store.stat(bucketName, intent.key));
  if (!found || intent.mark === undefined || found.mark !== intent.mark) return { left: undefined };
  const isDeleted = await permitted(store.delete(bucketName, intent.key).then(() => true));
  return { left: isDeleted ? undefined : finishedFile(intent, found) };
}

/** Listing, reading and deleting are optional: undefined where the key may not, or the store cannot. */
async function permitted<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.isWithheld) return undefined;
    throw error;
  }
}
