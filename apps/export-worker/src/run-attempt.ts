import { errorText, TerminalError } from '#lib/errors';
import { type ObjectStat, type ObjectStore, ObjectStoreError } from '#lib/object-store';
import { NoAnswerError, sqlState } from '#lib/postgres';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import { formatInstant, systemClock } from '#lib/time';
import {
  EXPORT_COLUMNS,
  type ExportFile,
  type ExportIntent,
  type ExportProgressRecord,
  type ExportResource,
  FEEDBACK_COLUMNS_OF_EXPORTS,
  finishedFile,
  StaleAttemptError,
  type TraceStore,
} from '#lib/trace-store';
import type { ExportTask } from './export-task.js';
import { addToTable } from './iceberg-table.js';
import { onlyOrInForce } from './only-or-in-force.js';
import type { ProgressJournal } from './progress-journal.js';
import { type PartTools, writePart } from './write-part.js';

/** Exit codes that the controller reads (after sysexits: EX_USAGE, EX_DATAERR, EX_TEMPFAIL). */
export const EXIT_CODE = { done: 0, unusable: 64, terminal: 65, retry: 75 } as const;

/** Result of an attempt, for the process and for the run's record. */
export interface AttemptOutcome {
  readonly exitCode: number;
  /** Text for people; without secrets. Undefined when there is nothing to record. */
  readonly message?: string;
}

/**
 * Sorts a failure: credentials and bucket need a person, and so does a spec that asks for what cannot be done; an attempt
 * that another has replaced has nothing more to say; everything else is worth another attempt.
 * @param record the run's progress, as far as it could be read
 */
export function outcomeOf(
  failure: unknown,
  attempt: number,
  record: ExportProgressRecord | undefined,
): AttemptOutcome {
  if (failure instanceof StaleAttemptError) {
    // a claim that was refused, and a database that fails since: the next attempt finds out why
    if (record === undefined) return { exitCode: EXIT_CODE.retry };
    if (record.state === 'completed') return { exitCode: EXIT_CODE.done };
    // suspended: the release begins another worker
    if (record.state === 'held') return { exitCode: EXIT_CODE.retry };
    // the same number twice: a second process of this attempt, as after a loss of the node. Only the next
    // attempt can settle if the first still writes or has recorded that it failed
    const isSecondProcess =
      record.attempt === attempt && (record.state === 'running' || record.state === 'failed');
    return { exitCode: isSecondProcess ? EXIT_CODE.retry : EXIT_CODE.terminal };
  }
  if (failure instanceof ObjectStoreError)
    // the cause may repeat what a foreign server answered: the code is enough
    return {
      exitCode: failure.isConfiguration ? EXIT_CODE.terminal : EXIT_CODE.retry,
      message: failure.message,
    };
  const exitCode = failure instanceof TerminalError ? EXIT_CODE.unusable : EXIT_CODE.retry;
  return { exitCode, message: recordedText(failure) };
}

/**
 * The record is shown to the workspace: what Postgres and its driver report names addresses, roles and tables of the
 * platform, which are for the worker's log.
 */
function recordedText(failure: unknown, depth = 0): string {
  if (failure instanceof NoAnswerError) return failure.message;
  const state = sqlState(failure);
  if (state !== undefined) return `the database reported an error (SQLSTATE ${state})`;
  if (!(failure instanceof Error) || failure.cause === undefined || depth > 4) return errorText(failure);
  return `${failure.message || failure.name}: ${recordedText(failure.cause, depth + 1)}`;
}

/**
 * Looks at the files that a run adopted from the export that it continues: months may have passed, and rules of the
 * bucket may have removed them. Without the permission to read nothing is looked at.
 * @throws TerminalError for one that is missing or has another size
 */
async function checkAdopted(
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

/** The object that is written last: its readers see exactly the files that belong to the partition. */
function renderManifest(task: ExportTask, files: readonly ExportFile[]): string {
  const { startTime, endTime } = task.spec;
  return render(task, { startTime, endTime }, files);
}

/** The manifest of a whole export, which exists once all of its days are exported. */
function renderExportManifest(
  task: ExportTask,
  manifests: readonly string[],
  files: readonly ExportFile[],
): string {
  return render(task, { ...task.spec.exportWindow, status: 'COMPLETED', manifests }, files);
}

function render({ spec, resources }: ExportTask, about: object, files: readonly ExportFile[]): string {
  const of = (wanted: ExportResource): object =>
    contentsOf(files.filter(({ resource = 'runs' }) => resource === wanted));
  const manifest = {
    version: 1,
    exportId: spec.exportId,
    tenantId: spec.tenantId,
    projectId: spec.projectId,
    ...about,
    format: spec.format,
    formatVersion: spec.formatVersion,
    compression: spec.compression,
    ...of('runs'),
    feedback: resources.includes('feedback') ? of('feedback') : undefined,
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** Files of one resource. */
function contentsOf(files: readonly ExportFile[]): object {
  const sum = (of: (file: ExportFile) => number): number =>
    files.reduce((total, file) => total + of(file), 0);
  return {
    rows: sum(({ rows }) => rows),
    bytes: sum(({ bytes }) => bytes),
    files: files.map(({ key, rows, bytes, etag, sha256, minStartTime, maxStartTime }) => ({
      key,
      rows,
      bytes,
      etag,
      sha256,
      minStartTime: minStartTime === undefined ? undefined : formatInstant(minStartTime),
      maxStartTime: maxStartTime === undefined ? undefined : formatInstant(maxStartTime),
    })),
  };
}

/**
 * Clears up after an attempt that ended in the middle of a file. A finished object with the noted mark is the file: it
 * is adopted. Otherwise the upload is aborted, so that a worker that is only paused can never complete it, and the file is
 * written again from the cursor.
 */
async function settleIntent(
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
