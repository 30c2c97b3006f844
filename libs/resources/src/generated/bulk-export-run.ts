// Generated from crds/ by `npm run generate`. Do not edit.
import type { ObjectMeta } from '../object-meta.js';
import type { Condition, ExportWindow, RunDestination } from './shared.js';

/** Everything that a worker needs. */
export interface BulkExportRunSpec {
  /** Name of the BulkExport. */
  readonly exportName: string;
  /** Id of the export. */
  readonly exportId: string;
  /** Tenant whose runs are exported. */
  readonly tenantId: string;
  /** Tracing project whose runs are exported. */
  readonly projectId: string;
  /** The uid of the run of this window in the export that its export continues. What that run has finished is adopted. */
  readonly predecessorUid?: string;
  /** The uid of the run of this window in the export whose late runs are exported. What that run has read is left out. */
  readonly lateOfUid?: string;
  /** First instant of the window, inclusive. */
  readonly startTime: string;
  /** End of the window, exclusive. */
  readonly endTime: string;
  /** The window of the whole export. The worker of its last run writes export.json; absent in runs of earlier versions, whose exports have none. */
  readonly exportWindow?: ExportWindow;
  /** Snapshot of the destination. */
  readonly destination: RunDestination;
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
  /** Expression that narrows which runs are exported. */
  readonly filter?: string;
}

/** What is known about it; written by the platform. */
export interface BulkExportRunStatus {
  /** The newest generation of the spec that was fully handled. */
  readonly observedGeneration?: number;
  /** What is known about the resource, one fact each, of the types Running, Completed, Failed and Ready. Their reasons are explained in docs/reference/bulk-export-run.md. */
  readonly conditions?: readonly Condition[];
  /** Number of the newest attempt; 1 is the first, 0 means none yet. */
  readonly attempt?: number;
  /** Feedback exported so far, in finished files. */
  readonly feedbackRows?: number;
  /** Rows exported so far. */
  readonly rows?: number;
  /** Bytes written so far. */
  readonly bytes?: number;
  /** Parquet files written so far. */
  readonly files?: number;
  /** Rough progress. */
  readonly percent?: number;
  /** Messages of failed attempts by attempt, retry_0, retry_1 and so on. */
  readonly errors?: Readonly<Record<string, string>>;
  /** When the first attempt began. */
  readonly startedAt?: string;
  /** When the run ended. */
  readonly finishedAt?: string;
}

/** One UTC day of a BulkExport. Made by the platform. */
export interface BulkExportRun {
  readonly apiVersion: 'agentplane.dev/v1alpha1';
  readonly kind: 'BulkExportRun';
  readonly metadata: ObjectMeta;
  readonly spec: BulkExportRunSpec;
  readonly status?: BulkExportRunStatus;
}
