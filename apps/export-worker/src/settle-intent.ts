import { errorText } from '#lib/errors';
import { ObjectStoreError, type ObjectStat, type ObjectStore } from '#lib/object-store';
import type { Logger } from '#lib/telemetry';
import { type ExportIntent, type ExportProgressRecord, finishedFile } from '#lib/trace-store';
import type { ExportTask } from './export-task.js';
import type { ProgressJournal } from './progress-journal.js';

/**
 * Clears up after an attempt that ended in the middle of a file. A finished object with the noted mark is the file: it
 * is adopted. Otherwise the upload is aborted, so that a worker that is only paused can never complete it, and the file is
 * written again from the cursor.
 */
export async function settleIntent(
  record: ExportProgressRecord,
  task: ExportTask,
  store: ObjectStore,
  journal: ProgressJournal,
  log: Logger,
): Promise<void> {
  const { intent } = record;
  if (!intent) return;
  // first, so that what is found afterwards stays as it is
  if (intent.uploadId !== undefined) await store.abortUpload(task.bucket, intent.key, intent.uploadId);
  else await abortUnknown(intent, task, store, log);
  if (await adopt(intent, task, store, journal)) {
    log.info({ key: intent.key, rows: intent.rows }, 'adopted the finished file of a former attempt');
    return;
  }
  await journal.clearIntent();
  log.info({ key: intent.key }, 'rewriting the unfinished file of a former attempt');
}

/** An attempt that died while its upload began: the upload may exist, and only the store has its id. */
async function abortUnknown(
  { key }: ExportIntent,
  task: ExportTask,
  store: ObjectStore,
  log: Logger,
): Promise<void> {
  try {
    await store.abortUploadsOf(task.bucket, key);
  } catch (error) {
    log.warn(
      { key, error: errorText(error) },
      'listing multipart uploads failed; an orphaned upload may remain',
    );
  }
}

/** Reading is a recommended permission, not a required one: without it nothing is adopted and all is written again. */
async function findObject(bucket: string, key: string, store: ObjectStore): Promise<ObjectStat | undefined> {
  try {
    return await store.stat(bucket, key);
  } catch (error) {
    if (error instanceof ObjectStoreError && error.code === 'AccessDenied') return undefined;
    throw error;
  }
}

async function adopt(
  intent: ExportIntent,
  task: ExportTask,
  store: ObjectStore,
  journal: ProgressJournal,
): Promise<boolean> {
  if (intent.upTo === undefined) return false;
  const finished = finishedFile(intent, await findObject(task.bucket, intent.key, store));
  if (finished) await journal.completePart(finished.file, finished.cursor);
  return finished !== undefined;
}
