// Generated from crds/ by `npm run generate`. Do not edit.
import type { ObjectMeta } from '../object-meta.js';
import type { Condition, ContinuedExport, ExportRunRequest, ExportWebhook, LateRunsOf, LocalObjectReference, RunCounts, SourceExport, TracingProjectReference, WebhookDelivery } from './shared.js';

/** What to export and where to. */
export interface BulkExportSpec {
  /** The BulkExportDestination to write to. */
  readonly destinationRef: LocalObjectReference;
  /** The tracing project to export, by name or by id. */
  readonly tracingProject: TracingProjectReference;
  /** First instant of the window, inclusive. */
  readonly startTime?: string;
  /** End of the window, exclusive. */
  readonly endTime?: string;
  /** A window that ends with the second in which the resource was created, for example 24h or 7d. */
  readonly last?: string;
  /** Makes it a schedule, which makes an export for each window of so many hours. The first window begins at startTime, each other one where the former ended. */
  readonly intervalHours?: number;
  /** Filter that names the runs that are exported; all of them when absent. */
  readonly filter?: string;
  /** What the files are, parquet or jsonl, which has a JSON object of each run in a line of its own. */
  readonly format: 'parquet' | 'jsonl';
  /** Column types and folders; v2_beta has typed columns and Hive-compliant folders. */
  readonly formatVersion: 'v1' | 'v2_beta';
  /** Compression of the files. jsonl has no snappy. */
  readonly compression: 'none' | 'gzip' | 'snappy' | 'zstd';
  /** Table over the files. With iceberg, the metadata of an Apache Iceberg table are written below tables/ of the prefix when the export is complete; the exports of a schedule add to one table, for which the key needs s3:GetObject. Only for parquet. */
  readonly table?: 'iceberg';
  /** Uncompressed bytes after which a page of payloads ends, for readers that hold whole pages; only for parquet. Absent, 4 MiB, and one page for a row group where histories come again, which makes the smallest files. */
  readonly pageBytes?: number;
  /** What is exported, runs alone when absent. With feedback, that of the exported runs lies in files of its own, with all of its columns. */
  readonly resources?: readonly ('runs' | 'feedback')[];
  /** Columns to export; all when absent. */
  readonly exportFields?: readonly ('id' | 'tenant_id' | 'session_id' | 'trace_id' | 'parent_run_id' | 'parent_run_ids' | 'reference_example_id' | 'name' | 'run_type' | 'start_time' | 'end_time' | 'status' | 'is_root' | 'dotted_order' | 'trace_tier' | 'tags' | 'total_tokens' | 'prompt_tokens' | 'completion_tokens' | 'total_cost' | 'prompt_cost' | 'completion_cost' | 'first_token_time' | 'error' | 'feedback_stats' | 'events' | 'extra' | 'inputs' | 'outputs')[];
  /** Stops the export for good. */
  readonly cancel: boolean;
  /** Starts no further runs while true. A schedule makes no exports; those of the windows that end meanwhile are made once it is false again. */
  readonly suspend: boolean;
  /** Asks a schedule, even a suspended one, for one more export, from the beginning of the window that is open until now. The windows stay as they are. */
  readonly runRequest?: ExportRunRequest;
  /** The export, FAILED or TIMEDOUT, that this one continues. Its finished files are adopted, wherever they lie under the prefix, and only what is missing is exported. Everything else in spec must be as it is there. */
  readonly continues?: ContinuedExport;
  /** The export, COMPLETED, whose late runs are exported, those that came or changed after it had begun to read their day. Project, window and filter must be as they are there. */
  readonly lateRunsOf?: LateRunsOf;
  /** A URL that is called with a POST when the export has ended, however. A schedule calls nothing itself; the exports that it makes do. */
  readonly webhook?: ExportWebhook;
  /** The schedule that made this export. It is a link and no ownership; the export stays when the schedule is deleted. */
  readonly sourceExport?: SourceExport;
}

/** What is known about it; written by the platform. */
export interface BulkExportStatus {
  /** The newest generation of the spec that was fully handled. */
  readonly observedGeneration?: number;
  /** What is known about the resource, one fact each, of the types Accepted, Running, Completed, Failed, WebhookDelivered and Ready. Their reasons are explained in docs/reference/bulk-export.md. */
  readonly conditions?: readonly Condition[];
  /** Resolved first instant of the window, inclusive. */
  readonly startTime?: string;
  /** Resolved end of the window, exclusive. */
  readonly endTime?: string;
  /** Id of the destination that the export was accepted with. */
  readonly destinationId?: string;
  /** Resolved id of the tracing project. */
  readonly tracingProjectId?: string;
  /** Name of the tracing project when the export was accepted. */
  readonly tracingProjectName?: string;
  /** Runs of the export by state. */
  readonly runs?: RunCounts;
  /** Rows exported so far. */
  readonly rows?: number;
  /** Bytes written so far. */
  readonly bytes?: number;
  /** Rough progress. */
  readonly percent?: number;
  /** When the first run began. */
  readonly startedAt?: string;
  /** When the last run ended. */
  readonly finishedAt?: string;
  /** Of a schedule, the end of the last window that an export was made for. */
  readonly spawnedUntil?: string;
  /** Of a schedule, when the export of its next window is made, which is the end of the window. Its rows are read ten minutes later. */
  readonly nextSpawn?: string;
  /** Of a schedule, windows that have ended and have no export yet. */
  readonly windowsBehind?: number;
  /** Of a schedule, exports that it made and that have not ended. */
  readonly unfinishedExports?: number;
  /** Of a schedule, the newest runRequest.id that was handled. */
  readonly handledRunRequestId?: string;
  /** How far the calls of spec.webhook came. */
  readonly webhook?: WebhookDelivery;
}

/** A copy of the runs of one tracing project, in a window of time, as Parquet files. */
export interface BulkExport {
  readonly apiVersion: 'agentplane.dev/v1alpha1';
  readonly kind: 'BulkExport';
  readonly metadata: ObjectMeta;
  readonly spec: BulkExportSpec;
  readonly status?: BulkExportStatus;
}
