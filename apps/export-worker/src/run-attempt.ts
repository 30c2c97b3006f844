import { errorText, TerminalError } from '#lib/errors';
import type { ObjectStore } from '#lib/object-store';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import {
  EXPORT_COLUMNS,
  type ExportFile,
  type ExportProgressRecord,
  FEEDBACK_COLUMNS_OF_EXPORTS,
  StaleAttemptError,
  type TraceStore,
} from '#lib/trace-store';
import { checkAdopted } from './check-adopted.js';
import type { ExportTask } from './export-task.js';
import { addToTable } from './iceberg-table.js';
import { renderExportManifest, renderManifest } from './manifest.js';
import { onlyOrInForce } from './only-or-in-force.js';
import type { ProgressJournal } from './progress-journal.js';
import { settleIntent } from './settle-intent.js';
import { type PartTools, writePart } from './write-part.js';

export interface AttemptTools {
  readonly traceStore: Pick<TraceStore, 'exportSource' | 'exportProgress'>;
  readonly store: ObjectStore;
  readonly journal: ProgressJournal;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * One attempt: claim the run, settle what the former attempt left, write file after file, the manifest last. Every row
 * of the window is in exactly one of the files that the progress names, however often attempts were killed.
 * @throws StaleAttemptError, ObjectStoreError, or the error of the database
 */
export async function runAttempt(task: ExportTask, tools: AttemptTools): Promise<void> {
  const { traceStore, store, journal, log } = tools;
  const signal = AbortSignal.any([tools.signal, journal.signal]);
  const claimed = await journal.claim();
  await traceStore.exportSource.checkProject(task.window);
  await settleIntent(claimed, task, store, journal, log);
  await writeParts(
    lateOnly(task, claimed),
    { source: traceStore.exportSource, store, journal, log, signal },
    traceStore,
  );
  signal.throwIfAborted();
  await traceStore.exportSource.checkProject(task.window);
  const files = await traceStore.exportProgress.files(task.runUid);
  // a run that is shut out should get no manifest even where the key may not delete it afterwards
  await journal.confirm();
  await putManifest(task.bucket, task.manifestKey, renderManifest(task, files), tools);
  await finish(task, tools);
  log.info({ files: files.length }, 'export run completed');
}

/** @throws TerminalError for a run of late rows whose progress does not say which these are */
function lateOnly(task: ExportTask, { changedSince }: ExportProgressRecord): ExportTask {
  if (task.spec.lateOfUid === undefined) return task;
  if (changedSince === undefined)
    throw new TerminalError(
      REASON.lateRunsUnknown,
      'reading the late runs failed: nothing says which these are; make a new export of the window',
    );
  return { ...task, window: { ...task.window, changedSince } };
}

/**
 * Continues after the last file of the former attempt, file after file, first of runs and then of feedback.
 */
async function writeParts(
  task: ExportTask,
  tools: PartTools,
  { exportProgress }: AttemptTools['traceStore'],
): Promise<void> {
  const record = await exportProgress.find(task.runUid);
  await checkAdopted(task, await exportProgress.files(task.runUid), tools.store);
  if (record?.isWhole) return;
  const begun = record?.resource ?? 'runs';
  let part = record?.part ?? 0;
  let cursor = record?.cursor;
  for (const resource of task.resources.slice(task.resources.indexOf(begun))) {
    if (resource !== begun) {
      await tools.journal.beginFeedback();
      cursor = undefined;
    }
    for (let isLast = false; !isLast;) {
      tools.signal.throwIfAborted();
      const written = await writePart(task, { resource, part }, cursor, tools);
      isLast = written.isLast || !written.cursor;
      // a number that no file has is the next one's: after the last run, that of feedback
      if (written.cursor) part++;
      cursor = written.cursor ?? cursor;
    }
  }
}

/** The run may have been shut out while its manifest, or that of its export, was on its way. */
async function finish(task: ExportTask, tools: AttemptTools): Promise<void> {
  const { runUid, bucket, manifestKey, whole } = task;
  const { journal, store, traceStore, log } = tools;
  const written = [manifestKey];
  try {
    if (whole) {
      if (await journal.finishUnlessLast(whole.exportUid, whole.manifests.length)) return;
      const files = await traceStore.exportProgress.filesOfExport(whole.exportUid);
      await addToTables(task, files, tools);
      const manifest = renderExportManifest(task, whole.manifests, files);
      await journal.confirm();
      for (const key of whole.keys) {
        written.push(key);
        await putManifest(bucket, key, manifest, tools);
      }
    }
    await journal.finish();
  } catch (error) {
    const record =
      error instanceof StaleAttemptError ? await traceStore.exportProgress.find(runUid) : undefined;
    // no attempt of the run writes another one
    if (record?.state === 'cancelled')
      for (const key of written)
        await store.delete(bucket, key).catch((failure: unknown) => {
          log.warn(
            { key, error: errorText(failure) },
            'deleting the manifest of a cancelled run failed; it stays',
          );
        });
    throw error;
  }
}

const COLUMNS = { runs: EXPORT_COLUMNS, feedback: FEEDBACK_COLUMNS_OF_EXPORTS };

/** The tables come before the manifest of the export, for which readers wait. */
async function addToTables(
  task: ExportTask,
  files: readonly ExportFile[],
  { store, journal }: AttemptTools,
): Promise<void> {
  if (task.spec.table !== 'iceberg') return;
  const tools = { store, now: () => systemClock.now(), confirm: () => journal.confirm() };
  for (const resource of task.resources) {
    const own = files.filter((file) => (file.resource ?? 'runs') === resource);
    await addToTable(task, resource, COLUMNS[resource], own, tools);
  }
}

async function putManifest(
  bucket: string,
  key: string,
  manifest: string,
  { journal, store }: Pick<AttemptTools, 'journal' | 'store'>,
): Promise<void> {
  const contentType = 'application/json';
  await onlyOrInForce(
    () => store.put(bucket, key, manifest, { contentType, onlyIfAbsent: true }),
    () => store.put(bucket, key, manifest, { contentType }),
    () => journal.confirm(),
  );
}
