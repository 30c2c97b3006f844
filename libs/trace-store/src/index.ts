export type {
  AttachmentContent,
  Attachments,
  NewAttachment,
  StoredAttachment,
} from './attachment/attachments.js';
export type { SourcePlace, SourceArchives } from './attachment/source-archives.js';
export type { ApiKeyRecord, ApiKeys, NewApiKey } from './key/api-key-table.js';
export {
  DATA_TYPES,
  type Dataset,
  type DatasetDetails,
  type DatasetSearch,
  type DataType,
} from './dataset/dataset.js';
export { MAX_ATTACHMENTS as MAX_EXAMPLE_ATTACHMENTS } from './dataset/attached-examples.js';
export type { DatasetVersion } from './dataset/dataset.js';
export type {
  AsOf,
  AttachmentChange,
  ExampleAttachment,
  ExamplePayload,
  ExampleRow,
  ExampleSearch,
  ExampleWrite,
} from './dataset/dataset.js';
export { parseExample, type SentExample } from './dataset/parse-example.js';
export { EXPORT_COLUMNS, type ExportColumn, FEEDBACK_COLUMNS_OF_EXPORTS } from './export/export-columns.js';
export type {
  ArchivedExport,
  ArchivedRun,
  ArchivedRunsPart,
  ArchivePlace,
  ArchiveRecords,
  ArchiveSearch,
} from './export/export-archive-table.js';
export type {
  ExportCursor,
  ExportFile,
  ExportIntent,
  ExportProgress,
  ExportProgressRecord,
  ExportResource,
} from './export/export-progress.js';
export type { ExportCount, ExportCounts, LateCount, UnknownLate } from './export/export-source.js';
export {
  finishedFile,
  type FinishedFile,
  writtenSoFar,
  StaleAttemptError,
} from './export/export-progress.js';
export type { ExportRows, ExportSource, ExportWindow } from './export/export-source.js';
export type { FeedbackConfig } from './feedback/feedback-config-table.js';
export type { FeedbackGrant, NewFeedbackToken } from './feedback/feedback-token-table.js';
export { FEEDBACK_LIMITS } from './feedback/feedback-row.js';
export type { FeedbackChange, FeedbackSearch, NewFeedback, StoredFeedback } from './feedback/feedback.js';
export type { RunFilters } from './filter/filter-sql.js';
export { metadataOf } from './query/metadata-of.js';
export { type Moved, moveTraces } from './moving/move-traces.js';
export { findOpenDatabases, warnOfOpenDatabases } from './open-databases.js';
export { openTraceStore } from './open-trace-store.js';
export {
  parsePrice,
  DEFAULT_MEMBERS,
  type ModelPrice,
  type NewModelPrice,
  PRICE_LIMITS,
  type PriceDetails,
} from './price/model-price.js';
export { type CommitTag, type Prompt, PROMPT_LIMITS, type PromptCommit } from './prompt/prompt.js';
export { type UsageSource, usageSourceOf } from './wire/usage-source.js';
export { readModelPrices } from './price/price-lists.js';
export type { PriceApplication, UnmatchedModel } from './repricing/price-application-table.js';
export type { Project, ProjectDetails, Projects } from './project/project.js';
export { PAYLOAD_FIELDS, type PayloadField } from './run/stored-run.js';
export type { LeftOut, RunBatch, RunOperation } from './wire/run-operation.js';
export type { SharedTrace } from './share/share-table.js';
export { splitBatch } from './wire/split-batch.js';
export type {
  ArchivedRevision,
  RevisionArchive,
  RevisionOwner,
  RevisionSearch,
} from './revision/revision-archive-table.js';
export type { RetentionBounds, RetentionSettings } from './retention/retention-table.js';
export { TRACE_TIERS } from './retention/trace-tier.js';
export type { RunCursor, RunPage, RunSearch } from './query/run-search.js';
export type { IngestProblem, IngestProblemCount } from './problem/ingest-problem-table.js';
export type { RunChildren, StoredRun } from './run/stored-run.js';
export type { RunStatistics } from './summary/read-statistics.js';
export type { Thread, ThreadCursor } from './thread/find-threads.js';
export type { TraceStore } from './trace-store.js';
export type { TenantUse, Use } from './tenant-use.js';
