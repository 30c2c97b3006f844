export type {
  AttachmentContent,
  Attachments,
  NewAttachment,
  StoredAttachment,
} from './attachment/attachments.js';
export type { SourcePlace, SourceArchives } from './attachment/source-archives.js';
export type { ApiKeyRecord, ApiKeys, NewApiKey } from './key/api-keys.js';
export {
  DATA_TYPES,
  type Dataset,
  type DatasetDetails,
  type DatasetSearch,
  type DataType,
} from './dataset/dataset.js';
export { MAX_ATTACHMENTS as MAX_EXAMPLE_ATTACHMENTS } from './dataset/attached-examples.js';
export type { DatasetVersion } from './dataset/dataset-versions.js';
export type {
  AsOf,
  AttachmentChange,
  ExampleAttachment,
  ExamplePayload,
  ExampleRow,
  ExampleSearch,
  ExampleWrite,
} from './dataset/example.js';
export { parseExample, type SentExample } from './dataset/parse-example.js';
export { EXPORT_COLUMNS, type ExportColumn } from './export/export-columns.js';
export { FEEDBACK_COLUMNS_OF_EXPORTS } from './export/feedback-columns.js';
export type {
  ArchivedExport,
  ArchivedRun,
  ArchivedRunsPart,
  ArchivePlace,
  ArchiveRecords,
  ArchiveSearch,
} from './export/export-archive.js';
export type {
  ExportCursor,
  ExportFile,
  ExportIntent,
  ExportProgress,
  ExportProgressRecord,
  ExportResource,
} from './export/export-progress.js';
export type { ExportCount, ExportCounts, LateCount, UnknownLate } from './export/export-counts.js';
export { finishedFile, type FinishedFile } from './export/finished-file.js';
export { writtenSoFar } from './export/written-so-far.js';
export type { ExportRows, ExportSource, ExportWindow } from './export/export-source.js';
export type { FeedbackConfig } from './feedback/feedback-configs.js';
export type { FeedbackGrant, NewFeedbackToken } from './feedback/feedback-tokens.js';
export { FEEDBACK_LIMITS } from './feedback/feedback-limits.js';
export type { FeedbackChange, FeedbackSearch, NewFeedback, StoredFeedback } from './feedback/feedback.js';
export type { RunFilters } from './filter/filter-sql.js';
export { metadataOf } from './query/metadata-of.js';
export { type Moved, moveTraces } from './moving/move-traces.js';
export { findOpenDatabases, warnOfOpenDatabases } from './open-databases.js';
export { openTraceStore } from './open-trace-store.js';
export { parsePrice } from './price/decimal.js';
export { readModelPrices } from './price/price-lists.js';
export {
  DEFAULT_MEMBERS,
  type ModelPrice,
  type NewModelPrice,
  PRICE_LIMITS,
  type PriceDetails,
} from './price/model-price.js';
export type { PriceApplication, UnmatchedModel } from './repricing/price-application.js';
export type { Project, ProjectDetails, Projects } from './project/project.js';
export { PAYLOAD_FIELDS, type PayloadField } from './run/payload-field.js';
export type { LeftOut, RunBatch, RunOperation } from './wire/run-operation.js';
export type { SharedTrace } from './share/shares.js';
export { splitBatch } from './wire/split-batch.js';
export { StaleAttemptError } from './export/stale-attempt-error.js';
export type {
  ArchivedRevision,
  RevisionArchive,
  RevisionOwner,
  RevisionSearch,
} from './revision/revision-archive.js';
export type { RetentionBounds, RetentionSettings } from './retention/retention.js';
export { TRACE_TIERS } from './retention/trace-tier.js';
export type { RunCursor, RunPage, RunSearch } from './query/run-search.js';
export type { IngestProblem, IngestProblemCount } from './problem/ingest-problems.js';
export type { RunChildren, StoredRun } from './run/stored-run.js';
export type { RunStatistics } from './summary/run-statistics.js';
export type { Thread, ThreadCursor } from './thread/thread.js';
export type { TraceStore } from './trace-store.js';
export type { TenantUse, Use } from './tenant-use.js';
