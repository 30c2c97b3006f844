export type { ApiKeyRecord, ApiKeys } from './key/api-keys.js';
export { EXPORT_COLUMNS, type ExportColumn, type ExportColumnType } from './export/export-columns.js';
export type {
  ExportCursor,
  ExportFile,
  ExportIntent,
  ExportProgress,
  ExportProgressRecord,
  ExportState,
} from './export/export-progress.js';
export type { ExportRead, ExportRows, ExportSource, ExportWindow } from './export/export-source.js';
export { JsonSyntaxError, validateJson } from './wire/json-scanner.js';
export { openTraceStore } from './open-trace-store.js';
export type { Project, Projects } from './project/project.js';
export { PAYLOAD_FIELDS, type PayloadField } from './run/payload-field.js';
export type { RunBatch, RunOperation } from './wire/run-operation.js';
export { splitBatch } from './wire/split-batch.js';
export { StaleAttemptError } from './export/stale-attempt-error.js';
export type { RunPayloads, RunRow, RunStatus, StoredRun } from './run/stored-run.js';
export type { IngestResult } from './ingestion/ingest-result.js';
export type { TraceStore, TraceStoreOptions } from './trace-store.js';
