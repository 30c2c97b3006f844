import { column, type ExportColumn } from './export-columns.js';

function json(name: string, sql: string): ExportColumn {
  return Object.freeze({ ...column(name, 'text', { sql, statistics: false }), isJson: true });
}

/**
 * Every column of feedback in exports, with the names that the REST interface has. Feedback is read in the
 * order of the runs' start times, so that a cursor of runs serves it too: its id is that of the run.
 */
export const FEEDBACK_COLUMNS_OF_EXPORTS: readonly ExportColumn[] = Object.freeze([
  column('id', 'uuid', { sql: 'f.id', required: true, cursor: 'id' }),
  column('tenant_id', 'uuid', { sql: 'f.tenant_id', required: true, repeating: true }),
  column('session_id', 'uuid', { sql: 'f.project_id', required: true, repeating: true }),
  column('trace_id', 'uuid', { sql: 'f.trace_id', required: true, cursor: 'traceId' }),
  column('run_id', 'uuid', { sql: 'f.run_id', required: true }),
  column('start_time', 'timestamptz', { sql: 'f.start_time', required: true, cursor: 'startTime' }),
  column('key', 'text', { sql: 'f.key', required: true, repeating: true }),
  // true and false are 1 and 0
  column('score', 'float8', { sql: 'f.score', statistics: false }),
  json('value', 'f.value_json'),
  column('comment', 'text', { sql: 'f.comment', statistics: false }),
  json('correction', 'f.correction'),
  json('feedback_source', 'f.source_json'),
  json('feedback_config', 'f.config'),
  json('extra', 'f.extra'),
  column('error', 'bool', { sql: 'f.is_error', statistics: false }),
  column('extend_trace_retention', 'bool', { sql: 'f.extends_retention', statistics: false }),
  column('comparative_experiment_id', 'uuid', { sql: 'f.comparative_experiment_id' }),
  column('feedback_group_id', 'uuid', { sql: 'f.feedback_group_id' }),
  column('created_at', 'timestamptz', { sql: 'f.created_at', required: true }),
  column('modified_at', 'timestamptz', { sql: 'f.modified_at', required: true }),
]);
