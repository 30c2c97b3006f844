import {
  type RenderedExport,
  type RenderedSchedule,
  type RenderedWebhook,
  updatedAt,
  type WebhookState,
} from '#lib/export-plan';
import {
  type BulkExport,
  type BulkExportRun,
  exportRunWireStatus,
  type ExportWireStatus,
  idOf,
  isFinishedExport,
  statusReason,
} from '#lib/resources';
import { formatInstant } from '#lib/time';
import { type ExportProgressRecord, writtenSoFar } from '#lib/trace-store';
import { renderReason } from '../wire/render-reason.js';
import {
  Answered,
  FLAG,
  listOf,
  NUMBER,
  object,
  orNull,
  Perhaps,
  TEXT,
  textList,
  textMap,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';
import { vendorWord, wordFor } from '../wire/vocabulary.js';

/** Progress of a schedule, in the API. */
class ScheduleAnswer implements RenderedSchedule {
  @Answered(FLAG, 'Makes no exports while true; none of the windows that end meanwhile is skipped')
  readonly paused: boolean;
  @Answered(orNull(TIME), 'Start of the window whose export is made next')
  readonly next_start_time: string | null;
  @Answered(orNull(TIME), 'Its end, at which the export is made; rows are read ten minutes later')
  readonly next_end_time: string | null;
  @Answered(WHOLE, 'Windows that have ended and have no export yet') readonly windows_behind: number;
  @Answered(WHOLE, 'Seconds since the end of the first of them; 0 when there is none')
  readonly lag_seconds: number;
  @Answered(WHOLE, 'Exports that it made and that have not ended') readonly unfinished_exports: number;
}

/** Progress of an export's webhook, in the API. */
class WebhookAnswer implements RenderedWebhook {
  @Answered(TEXT, 'Without its query') readonly url: string;
  @Answered(FLAG, 'Whether calls are signed') readonly signed: boolean;
  @Answered(
    orNull(words(['PENDING', 'DELIVERED', 'FAILED'])),
    'FAILED once calls are given up; null of a schedule, which calls nothing itself',
  )
  readonly status: WebhookState | null;
  @Answered(WHOLE, 'Calls that were begun') readonly attempts: number;
  @Answered(orNull(TIME)) readonly last_attempt_at: string | null;
  @Answered(orNull(TIME), 'null while a call is in progress, and at the end')
  readonly next_attempt_at: string | null;
  @Answered(orNull(TIME)) readonly delivered_at: string | null;
  @Answered(orNull(TEXT), 'Why the newest call that failed did') readonly last_error: string | null;
}

const COUNT =
  'Runs that came or changed after the export had begun to read them; null where that is not known';
const FIRST = 'Start time of the first of them';
const LAST = 'Start time of the last of them';

/** Late runs of a day of an export, on the wire. */
export class LateDayAnswer {
  @Answered(TIME, 'Inclusive') readonly start_time: string;
  @Answered(TIME, 'Exclusive') readonly end_time: string;
  @Answered(orNull(WHOLE), COUNT) readonly late_runs: number | null;
  @Answered(orNull(TIME), FIRST) readonly first_start_time: string | null;
  @Answered(orNull(TIME), LAST) readonly last_start_time: string | null;
  @Answered(
    orNull(words(['too_long', 'no_mark'])),
    'Why late_runs is null: counting took too long; nothing says what the export has read, which an earlier version or another database made',
  )
  readonly unknown: 'too_long' | 'no_mark' | null;
}

/** Late runs of an export, on the wire. */
export class LateRunsAnswer {
  @Answered(UUID) readonly bulk_export_id: string;
  @Answered(WHOLE, 'Of all days that were counted') readonly late_runs: number;
  @Answered(FLAG, 'Whether every day was counted') readonly exact: boolean;
  @Answered(orNull(TIME), FIRST) readonly first_start_time: string | null;
  @Answered(orNull(TIME), LAST) readonly last_start_time: string | null;
  @Answered(listOf(() => LateDayAnswer), 'By the time of their window')
  readonly days: readonly LateDayAnswer[];
}

const STATUSES = [
  'CREATED',
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TIMEDOUT',
] satisfies readonly ExportWireStatus[];

/** Settings of new objects in the words of the S3 client; those that were not given are left out. */
export class S3ArgumentsAnswer {
  @Perhaps(TEXT) readonly ServerSideEncryption?: string;
  @Perhaps(TEXT) readonly SSEKMSKeyId?: string;
  @Perhaps(TEXT) readonly StorageClass?: string;
  @Perhaps(TEXT) readonly ACL?: string;
}

class DestinationConfigAnswer {
  @Answered(TEXT) readonly bucket_name: string;
  @Answered(TEXT) readonly prefix: string;
  @Answered(orNull(TEXT)) readonly region: string | null;
  @Answered(orNull(TEXT)) readonly endpoint_url: string | null;
  @Answered(FLAG) readonly include_bucket_in_prefix: boolean;
  @Answered(orNull(TEXT), 'Encryption that objects are written with') readonly server_side_encryption:
    string | null;
  @Answered(orNull(TEXT)) readonly kms_key_id: string | null;
  @Answered(orNull(TEXT)) readonly storage_class: string | null;
  @Answered(orNull(TEXT), 'Canned ACL of objects') readonly acl: string | null;
  @Answered(orNull(TEXT), 'Role that is assumed') readonly aws_role_arn: string | null;
  @Answered(orNull(object(() => S3ArgumentsAnswer)), 'The same in the words of the S3 client')
  readonly s3_additional_kwargs: S3ArgumentsAnswer | null;
}

/** A destination on the wire. */
export class DestinationAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(words(['object_store'])) readonly destination_type: string;
  @Answered(TEXT) readonly display_name: string;
  @Answered(object(() => DestinationConfigAnswer)) readonly config: DestinationConfigAnswer;
  @Answered(textList(), 'Names of the credentials; their values are never shown')
  readonly credentials_keys: readonly string[];
  @Answered(orNull(TEXT), 'Result of the newest test: a CamelCase word') readonly status_reason:
    string | null;
  @Answered(orNull(TEXT), 'The same as a sentence') readonly status_message: string | null;
  @Answered(orNull(TIME), 'When it was tested last') readonly tested_at: string | null;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly updated_at: string;
}

/** An export on the wire. */
export class ExportAnswer implements Omit<RenderedExport, 'status'> {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(orNull(UUID)) readonly bulk_export_destination_id: string | null;
  @Answered(orNull(UUID), 'Id of the tracing project') readonly session_id: string | null;
  @Answered(FLAG, 'Always false') readonly all_experiments: boolean;
  @Answered(orNull(TIME), 'Inclusive') readonly start_time: string | null;
  @Answered(orNull(TIME), 'Exclusive') readonly end_time: string | null;
  @Answered(orNull(TEXT)) readonly filter: string | null;
  @Answered(words(['Parquet', 'JSONL'])) readonly format: string;
  @Answered(words(['v1', 'v2_beta'])) readonly format_version: string;
  @Answered(words(['none', 'gzip', 'snappy', 'zstd'])) readonly compression: string;
  @Answered(orNull(words(['iceberg'])), 'Table over the files, where one was asked for')
  readonly table: 'iceberg' | null;
  @Answered(orNull(WHOLE), 'Size at which pages of payloads end, where one was given')
  readonly page_bytes: number | null;
  @Answered(textList(), 'runs, and feedback where it is exported too') readonly resources: readonly string[];
  @Answered(orNull(textList())) readonly export_fields: readonly string[] | null;
  @Answered(orNull(WHOLE)) readonly interval_hours: number | null;
  @Answered(words(STATUSES), 'In the words of LangSmith for an export to a destination of type s3')
  readonly status: string;
  @Answered(FLAG, 'Begins no further runs while true; a schedule makes no exports')
  readonly paused: boolean;
  @Answered(orNull(TEXT), 'Reason of the Ready condition: a CamelCase word') readonly status_reason:
    string | null;
  @Answered(orNull(TEXT), 'The same as a sentence') readonly status_message: string | null;
  @Answered(WHOLE) readonly rows_exported: number;
  @Answered(NUMBER) readonly percent: number;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly updated_at: string;
  @Answered(orNull(TIME)) readonly finished_at: string | null;
  @Answered(orNull(UUID), 'The schedule that made it') readonly source_bulk_export_id: string | null;
  @Answered(orNull(UUID), 'The export that it continues') readonly continues_bulk_export_id: string | null;
  @Answered(orNull(UUID), 'The export whose late runs it has')
  readonly late_runs_of_bulk_export_id: string | null;
  @Answered(orNull(words(['interval', 'request'])), 'Why the schedule made it: a window ended, or run_now')
  readonly source_trigger: 'interval' | 'request' | null;
  @Answered(orNull(object(() => ScheduleAnswer)), 'Where a schedule stands; null for other exports')
  readonly schedule: ScheduleAnswer | null;
  @Answered(orNull(object(() => WebhookAnswer)), 'What is called at its end')
  readonly webhook: WebhookAnswer | null;
}

/** Estimate of an export, in the API. */
export class ExportEstimateAnswer {
  @Answered(TIME, 'Inclusive') readonly start_time: string;
  @Answered(TIME, 'Exclusive; of a schedule the end of the last window that has ended')
  readonly end_time: string;
  @Answered(WHOLE, '1; of a schedule its windows that have ended, whose exports it would make at once')
  readonly windows: number;
  @Answered(WHOLE, 'Runs of the export: a UTC day of a window each') readonly runs: number;
  @Answered(WHOLE) readonly rows: number;
  @Answered(
    FLAG,
    'Whether rows were counted, and none can come by time alone; false when counting took too long, or the window has not ended',
  )
  readonly exact: boolean;
  @Answered(WHOLE, 'Of the files, about') readonly bytes: number;
  @Answered(NUMBER) readonly bytes_per_row: number;
  @Answered(
    WHOLE,
    'Completed exports of the project, with the same columns and compression, that bytes_per_row is from; 0: a default',
  )
  readonly measured_exports: number;
  @Answered(NUMBER, 'Time of the work, about, once the export has begun') readonly seconds: number;
}

class ExportRunResultAnswer {
  @Answered(WHOLE, 'In finished files') readonly rows_written: number;
  @Answered(WHOLE, 'Feedback in finished files') readonly feedback_rows_written: number;
  @Answered(textList(), 'BUCKET/KEY of every finished file') readonly exported_files: readonly string[];
  @Answered(orNull(TEXT), 'BUCKET/FOLDER of the files of runs') readonly export_path: string | null;
  @Answered(orNull(TEXT), 'START_TIME/ID of the last row that is surely stored')
  readonly latest_cursor: string | null;
  @Answered(orNull(TEXT), 'Always null') readonly pending_upload: string | null;
}

class ExportRunMetadataAnswer {
  @Answered(TEXT) readonly prefix: string;
  @Answered(TIME) readonly start_time: string;
  @Answered(TIME) readonly end_time: string;
  @Answered(
    orNull(object(() => ExportRunResultAnswer)),
    'Null before the first file, for a destination of type s3',
  )
  readonly result: ExportRunResultAnswer | null;
}

/** A run of an export on the wire. */
export class ExportRunAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly bulk_export_id: string;
  @Answered(orNull(UUID), 'Id of the tracing project') readonly session_id: string | null;
  @Answered(words(STATUSES)) readonly status: string;
  @Answered(orNull(TEXT), 'Reason of the Ready condition: a CamelCase word') readonly status_reason:
    string | null;
  @Answered(orNull(TEXT), 'The same as a sentence') readonly status_message: string | null;
  @Answered(WHOLE, '0 is the first attempt') readonly retry_number: number;
  @Answered(orNull(textMap()), 'Messages of failed attempts: retry_0, retry_1 and so on')
  readonly errors: Readonly<Record<string, string>> | null;
  @Answered(WHOLE, 'Written so far; once the run has ended, those in finished files')
  readonly rows_exported: number;
  @Answered(NUMBER, 'By the time of the newest row in a finished file; never goes back')
  readonly percent: number;
  @Answered(TIME, 'Inclusive') readonly start_time: string;
  @Answered(TIME, 'Exclusive') readonly end_time: string;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly updated_at: string;
  @Answered(orNull(TIME)) readonly finished_at: string | null;
  @Answered(object(() => ExportRunMetadataAnswer)) readonly metadata: ExportRunMetadataAnswer;
}

/**
 * The answer about an export, in the words that it was requested with.
 * @param isVendors true for one to a destination of type `s3`
 */
export function inExportWords(
  bulkExport: BulkExport,
  rendered: RenderedExport,
  isVendors: boolean,
): ExportAnswer {
  const { compression, status, interval_hours: hours } = rendered;
  const isLive = hours !== null && !isFinishedExport(status);
  const said = isLive ? 'IntervalScheduled' : vendorWord('status', status);
  const sent = wordFor(bulkExport, 'compression', compression, '');
  return {
    ...rendered,
    start_time: withoutNoFraction(rendered.start_time),
    end_time: withoutNoFraction(rendered.end_time),
    status: isVendors ? said : status,
    compression: sent === '' ? (isVendors ? vendorWord('compression', compression) : compression) : sent,
  };
}

/** Clients compare times as texts; few send a fraction. */
function withoutNoFraction(time: string | null): string | null {
  return time?.replace(/\.0+Z$/, 'Z') ?? null;
}

/** A run of an export on the wire. Progress comes from the store, the rest from the resource. */
export function renderExportRun(
  run: BulkExportRun,
  exportId: string,
  progress: ExportProgressRecord | undefined,
  keys: readonly string[],
  { sessionId, isVendors }: { readonly sessionId: string | null; readonly isVendors: boolean },
): ExportRunAnswer {
  const { metadata, spec, status } = run;
  const wireStatus = exportRunWireStatus(run);
  const hasEnded = isFinishedExport(wireStatus);
  const rows = rowsOf(run, progress, hasEnded);
  const { bucketName, prefix } = spec.destination.config;
  const cursor = progress?.cursor;
  return {
    id: idOf(run) ?? '',
    bulk_export_id: exportId,
    session_id: sessionId,
    status: isVendors ? vendorWord('status', wireStatus) : wireStatus,
    ...renderReason(statusReason(run)),
    retry_number: Math.max(0, (status?.attempt ?? 1) - 1),
    errors: status?.errors ?? null,
    rows_exported: rows,
    percent: wireStatus === 'COMPLETED' ? 100 : (status?.percent ?? 0),
    start_time: spec.startTime,
    end_time: spec.endTime,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: progress?.updatedAt.toISOString() ?? updatedAt(run),
    finished_at: status?.finishedAt ?? null,
    metadata: {
      prefix: prefix ?? '',
      start_time: spec.startTime,
      end_time: spec.endTime,
      result:
        isVendors && keys.length === 0 && !hasEnded
          ? null
          : {
              rows_written: progress?.rows ?? status?.rows ?? 0,
              feedback_rows_written: progress?.feedbackRows ?? status?.feedbackRows ?? 0,
              exported_files: keys.map((key) => `${bucketName}/${key}`),
              export_path: folderOf(keys[0], bucketName),
              pending_upload: null,
              latest_cursor: cursor ? `${formatInstant(cursor.startTime)}/${cursor.id}` : null,
            },
    },
  };
}

/**
 * Rows of a run: while it is active, those written so far, which are never fewer than in its resource; else
 * those in the bucket.
 */
function rowsOf(
  { status }: BulkExportRun,
  progress: ExportProgressRecord | undefined,
  hasEnded: boolean,
): number {
  if (!progress) return status?.rows ?? 0;
  return hasEnded ? progress.rows : Math.max(writtenSoFar(progress).rows, status?.rows ?? 0);
}

function folderOf(key: string | undefined, bucket: string): string | null {
  return key === undefined ? null : `${bucket}/${key.slice(0, key.lastIndexOf('/'))}`;
}
