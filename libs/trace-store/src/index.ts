export type { ApiKeyRecord, ApiKeys } from './api-keys.js';
export { EXPORT_COLUMNS, type ExportColumn, type ExportColumnType } from './export-columns.js';
export type {
  ExportCursor,
  ExportFile,
  ExportIntent,
  ExportProgress,
  ExportProgressRecord,
  ExportState,
} from './export-progress.js';
export type { ExportRead, ExportRows, ExportSource, ExportWindow } from './export-source.js';
export { JsonSyntaxError, validateJson } from './json-scanner.js';
export { openTraceStore } from './open-trace-store.js';
export type { Project, Projects } from './project.js';
export { PAYLOAD_FIELDS, type PayloadField, type RunBatch, type RunOperation } from './run-operation.js';
export { splitBatch } from './split-batch.js';
export { StaleAttemptError } from './stale-attempt-error.js';
export type { RunPayloads, RunRow, RunStatus, StoredRun } from './stored-run.js';
export type { IngestResult, TraceStore, TraceStoreOptions } from './trace-store.js';
