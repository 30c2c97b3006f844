export type { AttachmentContent, NewAttachment, StoredAttachment } from './attachment/attachments.js';
export type { Attachments } from './attachment/attachment-table.js';
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
export {
  EXPORT_COLUMNS,
  type ExportColumn,
  FEEDBACK_COLUMNS_OF_EXPORTS,
  parquetColumn,
} from './export/export-columns.js';
export { tableColumns, withIds } from './export/table-columns.js';
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
  ExportProgressRecord,
  ExportResource,
} from './export/export-progress.js';
export type { ExportProgress } from './export/export-progress-table.js';
export type {
  ExportCount,
  ExportCounts,
  ExportRows,
  ExportSource,
  ExportWindow,
  LateCount,
  UnknownLate,
} from './export/export-source.js';
export {
  finishedFile,
  type FinishedFile,
  writtenSoFar,
  StaleAttemptError,
} from './export/export-progress.js';
export type { FeedbackConfig } from './feedback/feedback-config-table.js';
export type { FeedbackGrant, NewFeedbackToken } from './feedback/feedback-token-table.js';
export {
  FEEDBACK_LIMITS,
  type FeedbackChange,
  type FeedbackSearch,
  type NewFeedback,
  type StoredFeedback,
} from './feedback/feedback.js';
export type { FileSink, FileWriter, OpenFile } from './export/row-feeder.js';
export { RowFile } from './export/row-file.js';
export type { RunFilters } from './filter/payload-filters.js';
export {
  metadataOf,
  type RunCursor,
  type RunPage,
  type RunSearch,
  SEARCH_PARTS,
} from './query/run-search.js';
export type { Lake, LakeDay, LakeDaySearch, LakeOptions, LakeTable, SealedDay } from './sealing/lake.js';
export {
  checkDaysAreReadable,
  LAKE_FIELDS,
  type LakeConfig,
  lakeVariables,
  openLake,
  whyNotSealing,
} from './sealing/lake-settings.js';
export { holdSealedFiles } from './sealing/held-files.js';
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
export { type CommitTag, type Prompt, PROMPT_LIMITS, type PromptCommit } from './prompt/prompt-table.js';
export { type UsageSource, usageSourceOf } from './wire/usage-source.js';
export { readModelPrices } from './price/price-lists.js';
export type { PriceApplication, UnmatchedModel } from './repricing/repricing.js';
export type { Project, ProjectDetails } from './project/project.js';
export type { Projects } from './project/project-table.js';
export {
  PAYLOAD_FIELDS,
  type PayloadField,
  type RunChildren,
  type StoredRun,
  TRACE_TIERS,
} from './run/stored-run.js';
export { type LeftOut, type RunBatch, type RunOperation, splitBatch } from './wire/run-operation.js';
export type { SharedTrace } from './share/share-table.js';
export type {
  ArchivedRevision,
  RevisionArchive,
  RevisionOwner,
  RevisionSearch,
} from './revision/revision-archive-table.js';
export type { RetentionBounds, RetentionSettings } from './retention/retention-table.js';
export type { IngestProblem, IngestProblemCount } from './problem/ingest-problem-table.js';
export type { RunStatistics } from './summary/read-statistics.js';
export type { Thread, ThreadCursor } from './thread/find-threads.js';
export type { TraceStore } from './trace-store.js';
export type { TenantUse, Use } from './tenant-use.js';
export type { TenantRest } from './removal/tenant-removal.js';
