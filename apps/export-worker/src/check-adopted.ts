import { TerminalError } from '#lib/errors';
import { ObjectStoreError, type ObjectStore } from '#lib/object-store';
import { REASON } from '#lib/resources';
import type { ExportFile } from '#lib/trace-store';
import type { ExportTask } from './export-task.js';

/**
 * Looks at the files that a run adopted from the export that it continues: months may have passed, and rules of the
 * bucket may have removed them. Without the permission to read nothing is looked at.
 * @throws TerminalError for one that is missing or has another size
 */
export async function checkAdopted(
  task: ExportTask,
  files: readonly ExportFile[],
  store: Pick<ObjectStore, 'stat'>,
): Promise<void> {
  for (const { resource = 'runs', part, key, bytes } of files) {
    if (key === task.keyOf(resource, part)) continue;
    const size = await sizeOf(task.bucket, key, store);
    if (size === 'unreadable') return;
    if (size === bytes) continue;
    const found = size === undefined ? 'does not exist any more' : `has ${size} bytes instead of ${bytes}`;
    throw new TerminalError(
      REASON.notContinuable,
      `adopting the files of the export that is continued failed: ${key} in bucket ${task.bucket} ${found}; make a new export`,
    );
  }
}

async function sizeOf(
  bucket: string,
  key: string,
  store: Pick<ObjectStore, 'stat'>,
): Promise<number | 'unreadable' | undefined> {
  try {
    return (await store.stat(bucket, key))?.size;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.code === 'AccessDenied') return 'unreadable';
    throw error;
  }
}
