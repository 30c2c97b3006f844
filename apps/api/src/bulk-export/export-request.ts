import { Transform } from 'class-transformer';
import { EXPORT_COLUMNS } from '#lib/trace-store';
import { bothWords, ourWord } from '../wire/vocabulary.js';
import { Choice, Flag, Nested, Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';
import { QueryWhole } from '../wire/query-flag.js';

const COMPRESSIONS = ['none', 'gzip', 'snappy', 'zstd'] as const;

/** Webhook that an export calls at its end. */
export class ExportWebhookRequest {
  @Text({ required: true, minLength: 1, maxLength: 2048, about: 'Called with a POST, over http or https' })
  url: string;

  @Text({
    minLength: 16,
    maxLength: 1024,
    about:
      'Signs every call as Standard Webhooks describes; several, separated by commas, sign it each. It is never shown. Absent: calls are not signed',
  })
  secret?: string | null;
}

/** Body of `POST /api/v1/bulk-exports`. */
export class CreateExportRequest {
  @Uuid({ required: true })
  bulk_export_destination_id: string;

  @Uuid({ about: 'Id of the tracing project; required' })
  session_id?: string | null;

  @Flag({ about: 'True is refused: an export is of one tracing project' })
  all_experiments?: boolean | null;

  @Time({ required: true, about: 'Inclusive' })
  start_time: string;

  @Time({ about: 'Exclusive; required unless interval_hours is given' })
  end_time?: string | null;

  @Text({
    minLength: 1,
    maxLength: 8192,
    about: 'Filter that names the runs that are exported; all of them when absent',
  })
  filter?: string | null;

  @Choice(['v1', 'v2_beta'], { about: 'Column types and folders; v1 when absent' })
  format_version?: 'v1' | 'v2_beta' | null;

  @Choice(['Parquet', 'JSONL'], {
    about: 'Of the files: Parquet, or a JSON object of each run in a line of its own; Parquet when absent',
  })
  format?: 'Parquet' | 'JSONL' | null;

  @Choice(COMPRESSIONS, { about: 'Of the files; zstd when absent. JSONL has no snappy' })
  compression?: (typeof COMPRESSIONS)[number] | null;

  @Choice(['iceberg'], {
    about:
      'Table over the files: metadata of Apache Iceberg below `tables/` of the prefix once the export is complete. Exports of a schedule add to one table, for which the key needs `s3:GetObject`. Parquet alone',
  })
  table?: 'iceberg' | null;

  @Whole({
    min: 1_048_576,
    max: 8_388_608,
    about:
      'Uncompressed bytes after which a page of payloads ends, for readers that hold whole pages; Parquet alone. Absent: 4 MiB, and one page for a row group where histories come again',
  })
  page_bytes?: number | null;

  @TextList({
    minSize: 1,
    maxSize: 64,
    choices: EXPORT_COLUMNS.map((column) => column.name),
    about: 'Columns to export; all when absent',
  })
  export_fields?: string[] | null;

  @TextList({
    minSize: 1,
    maxSize: 2,
    choices: ['runs', 'feedback'],
    about:
      'What is exported; runs alone when absent. With feedback, that of the exported runs lies in files of its own, with all of its columns',
  })
  resources?: ('runs' | 'feedback')[] | null;

  @Whole({
    min: 1,
    max: 168,
    about:
      'Makes it a schedule: an export is made for each window of so many hours, one after the other from start_time on',
  })
  interval_hours?: number | null;

  @Nested(() => ExportWebhookRequest, {
    about: 'Called once the export has ended, however; of a schedule, for each export that it makes',
  })
  webhook?: ExportWebhookRequest | null;
}

/**
 * Body of `PATCH /api/v1/bulk-exports/{id}`: exactly one of the fields. An empty one cancels an export whose destination is
 * `s3`, as LangSmith does.
 */
export class PatchExportRequest {
  @Choice(['CANCELLED'], {
    spellings: ['Cancelled', 'CANCELLED', 'cancelled'],
    about: 'Cancels for good',
  })
  @Transform(({ value }) => (typeof value === 'string' ? value.toUpperCase() : (value as unknown)))
  status?: 'CANCELLED' | null;

  @Flag({
    about:
      'Of an export: starts no further runs while true. Of a schedule: makes no exports while true, and afterwards those of all windows that ended meanwhile',
  })
  paused?: boolean | null;

  @Flag({
    about:
      'With true a schedule, paused or not, makes one more export: of its open window up to now. Its windows stay as they are',
  })
  run_now?: boolean | null;

  @Uuid({ about: 'Of a schedule: the destination of the exports that it makes from now on' })
  bulk_export_destination_id?: string | null;
}

/** Items of a list whose caller names no limit. */
export const MAX_LISTED = 1_000;

/** Query of lists that answer a plain array. */
export class ExportsQuery {
  @QueryWhole({
    min: 1,
    max: MAX_LISTED,
    about: 'Most items to answer; 1000 when absent, of the runs of one export all',
  })
  limit?: number;

  @QueryWhole({ min: 0, about: 'Items to skip' })
  offset?: number;
}

const STATUSES = ['CREATED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMEDOUT'] as const;

/** Query of the runs of what a schedule has made. */
export class ScheduledRunsQuery extends ExportsQuery {
  @Uuid({ required: true, about: 'The schedule' })
  source_bulk_export_id: string;
}

/** Query of the list of exports; conditions hold together. */
export class ListedExportsQuery extends ExportsQuery {
  @Choice(STATUSES, { about: 'Only exports in this state', spellings: bothWords('status') })
  @Transform(({ value }) => (typeof value === 'string' ? ourWord('status', value) : (value as unknown)))
  status?: (typeof STATUSES)[number];

  @Uuid({ about: 'Only exports to this destination' })
  bulk_export_destination_id?: string;

  @Uuid({ about: 'Only exports of this tracing project' })
  session_id?: string;

  @Uuid({ about: 'Only exports that this schedule made' })
  source_bulk_export_id?: string;

  @Uuid({ about: 'Only exports after this one: the last of the page before' })
  after?: string;
}
