/** How a column of the export arrives in COPY BINARY: the Postgres type whose binary form the field bytes have. */
export type ExportColumnType =
  'uuid' | 'uuid[]' | 'text' | 'text[]' | 'timestamptz' | 'bool' | 'int8' | 'numeric';

/** One exportable field of a run. */
export interface ExportColumn {
  readonly name: string;
  readonly type: ExportColumnType;
  /** Holds JSON text exactly as the client sent it. */
  readonly json: boolean;
  /** Lies in `run_payloads`; these columns come last in every file, so that sealed pages can be copied later. */
  readonly payload: boolean;
  readonly nullable: boolean;
  /** Expression over `r` (runs) and `p` (run_payloads). */
  readonly sql: string;
}

function column(
  name: string,
  type: ExportColumnType,
  options: { sql?: string; json?: boolean; payload?: boolean; required?: boolean } = {},
): ExportColumn {
  return Object.freeze({
    name,
    type,
    json: options.json ?? false,
    payload: options.payload ?? false,
    nullable: !options.required,
    sql: options.sql ?? `${options.payload ? 'p' : 'r'}.${name}`,
  });
}

/**
 * Every exportable field in the one fixed order of all files: light columns first, payloads last. `error` is plain
 * text; `inputs`, `outputs`, `extra`, `events` and `feedback_stats` are JSON text. Costs are NUMERIC(18,10).
 */
export const EXPORT_COLUMNS: readonly ExportColumn[] = Object.freeze([
  column('id', 'uuid', { required: true }),
  column('tenant_id', 'uuid', { required: true }),
  column('session_id', 'uuid', { required: true, sql: 'r.project_id' }),
  column('trace_id', 'uuid', { required: true }),
  column('parent_run_id', 'uuid'),
  column('parent_run_ids', 'uuid[]', { required: true }),
  column('reference_example_id', 'uuid'),
  column('name', 'text', { required: true }),
  column('run_type', 'text', { required: true }),
  column('start_time', 'timestamptz', { required: true }),
  column('end_time', 'timestamptz'),
  column('status', 'text', { required: true }),
  column('is_root', 'bool', { required: true }),
  column('dotted_order', 'text', { required: true }),
  column('trace_tier', 'text', { required: true }),
  column('tags', 'text[]', { required: true }),
  column('total_tokens', 'int8'),
  column('prompt_tokens', 'int8'),
  column('completion_tokens', 'int8'),
  column('total_cost', 'numeric'),
  column('prompt_cost', 'numeric'),
  column('completion_cost', 'numeric'),
  column('first_token_time', 'timestamptz'),
  column('error', 'text', { payload: true }),
  column('feedback_stats', 'text', { payload: true, json: true, sql: 'NULL::text' }),
  column('events', 'text', { payload: true, json: true }),
  column('extra', 'text', { payload: true, json: true }),
  column('inputs', 'text', { payload: true, json: true }),
  column('outputs', 'text', { payload: true, json: true }),
]);
