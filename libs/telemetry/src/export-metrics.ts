import { catalogue } from './metric-definition.js';

/** Bounds for work that takes from milliseconds to an hour. */
export const WORK_SECONDS = [0.01, 0.1, 1, 10, 60, 600, 3600] as const;

/** Metrics of exports and of the lake. */
export const EXPORT_METRICS = catalogue({
  exportRows: {
    kind: 'counter',
    name: 'agentplane_export_rows_total',
    help: 'Rows of export runs that completed.',
    labels: {},
    programs: ['controller'],
  },
  exportBytes: {
    kind: 'counter',
    name: 'agentplane_export_bytes_total',
    help: 'Bytes of the files of export runs that completed.',
    labels: {},
    programs: ['controller'],
  },
  exportAttemptRows: {
    kind: 'counter',
    name: 'agentplane_export_attempt_rows_total',
    help: 'Rows in files that this attempt at an export run finished, whatever becomes of the run.',
    labels: {},
    programs: ['export-worker'],
  },
  exportAttemptBytes: {
    kind: 'counter',
    name: 'agentplane_export_attempt_bytes_total',
    help: 'Bytes of files that this attempt at an export run finished, whatever becomes of the run.',
    labels: {},
    programs: ['export-worker'],
  },
  exportAttemptCopiedBytes: {
    kind: 'counter',
    name: 'agentplane_export_attempt_copied_bytes_total',
    help: 'Bytes of those files that were copied from files of sealed days instead of compressed again.',
    labels: {},
    programs: ['export-worker'],
  },
  exportFileDuration: {
    kind: 'histogram',
    name: 'agentplane_export_file_duration_seconds',
    help: 'Time to read, encode and upload one file.',
    labels: {},
    buckets: WORK_SECONDS,
    programs: ['export-worker'],
  },
  exportAttempts: {
    kind: 'counter',
    name: 'agentplane_export_attempts_total',
    help: 'Attempts at export runs that were started: the first of a run, and its retries.',
    labels: { kind: ['first', 'retry'] },
    programs: ['controller'],
  },
  exportRuns: {
    kind: 'counter',
    name: 'agentplane_export_runs_total',
    help: 'Export runs that ended, by outcome.',
    labels: { outcome: ['completed', 'failed'] },
    programs: ['controller'],
  },
  exportWebhookCalls: {
    kind: 'counter',
    name: 'agentplane_export_webhook_calls_total',
    help: 'Calls of webhooks of ended exports, by outcome: `again` is followed by another attempt, `failed` is not.',
    labels: { outcome: ['delivered', 'again', 'failed'] },
    programs: ['controller'],
  },
  exportLag: {
    kind: 'gauge',
    name: 'agentplane_export_lag_seconds',
    help: 'Age of the oldest export run that has not ended; 0 when all have.',
    labels: {},
    merge: 'max',
    programs: ['controller'],
  },

  lakeDaysDue: {
    kind: 'gauge',
    name: 'agentplane_lake_days_due',
    help: 'Days of projects that wait to be sealed, and tables of projects that wait to be published.',
    labels: {},
    merge: 'max',
    programs: ['controller'],
  },
  lakeWorkers: {
    kind: 'counter',
    name: 'agentplane_lake_workers_total',
    help: 'Workers that sealed days and ended, by outcome.',
    labels: { outcome: ['completed', 'failed'] },
    programs: ['controller'],
  },
  lakeSealedRows: {
    kind: 'counter',
    name: 'agentplane_lake_sealed_rows_total',
    help: 'Rows of the days that this worker sealed.',
    labels: {},
    programs: ['export-worker'],
  },
  lakeSealedBytes: {
    kind: 'counter',
    name: 'agentplane_lake_sealed_bytes_total',
    help: 'Bytes of the files of the days that this worker sealed.',
    labels: {},
    programs: ['export-worker'],
  },
  lakeSealDuration: {
    kind: 'histogram',
    name: 'agentplane_lake_seal_duration_seconds',
    help: 'Time to seal one day of a project.',
    labels: {},
    buckets: WORK_SECONDS,
    programs: ['export-worker'],
  },
  lakeSealFailures: {
    kind: 'counter',
    name: 'agentplane_lake_seal_failures_total',
    help: 'Days that this worker failed to seal; GET /api/v1/lake says why.',
    labels: {},
    programs: ['export-worker'],
  },
});
