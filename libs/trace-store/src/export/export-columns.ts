import type { FormatVersion } from '#lib/export-plan';
import type { ColumnType, ParquetColumn } from '#lib/parquet';
import { COLUMN_LIST, type ListedColumn, type RunColumnType, tierSql } from '../run/stored-run.js';
import { joinedTotalSql, type TotalColumn } from '../run/trace-totals.js';
import type { ExportCursor } from './export-progress.js';

/** Values reach COPY, which takes no parameters, as settings of the transaction; the text of the query never varies with them. */
export const SETTING = {
  tenant: 'agentplane.export_tenant',
  project: 'agentplane.export_project',
  start: 'agentplane.export_start',
  end: 'agentplane.export_end',
  afterTime: 'agentplane.export_after_time',
  afterId: 'agentplane.export_after_id',
  afterTrace: 'agentplane.export_after_trace',
  untilTime: 'agentplane.export_until_time',
  untilId: 'agentplane.export_until_id',
  untilTrace: 'agentplane.export_until_trace',
  since: 'agentplane.export_since',
  limit: 'agentplane.export_limit',
} as const;

/** The value of a setting, as SQL. */
export function setting(name: keyof typeof SETTING, type: string): string {
  return `current_setting('${SETTING[name]}')::${type}`;
}

/**
 * Form in which a column arrives in COPY BINARY: the Postgres type whose binary form the field bytes have.
 */
export type ExportColumnType =
  'uuid' | 'uuid[]' | 'text' | 'text[]' | 'timestamptz' | 'bool' | 'int8' | 'float8' | 'numeric';

/** Everything there is to know of one exportable field of a run or of feedback. */
export interface ExportColumn {
  readonly name: string;
  readonly type: ExportColumnType;
  /** Expression over `r` (runs), `p` (run_payloads) and `g` (trace_totals of roots), of feedback over `f`. */
  readonly sql: string;
  /**
   * True when the column is stored in `run_payloads`; these columns come last in every file, so that sealed
   * pages can be copied later.
   */
  readonly payload: boolean;
  /** True when its text is JSON. */
  readonly isJson: boolean;
  readonly nullable: boolean;
  /** Its type in the files of each format. */
  readonly fileType: Readonly<Record<FormatVersion, ColumnType>>;
  /** Few distinct values in a row group, most of the time. */
  readonly dictionary: boolean;
  /** Smallest and largest value of each row group, for short values that are searched by range. */
  readonly statistics: boolean;
  /**
   * Part of the column in the cursor. These columns are read for every export, even if its files do not have
   * them.
   */
  readonly cursor: keyof ExportCursor | undefined;
}

type FileTypes = ExportColumn['fileType'];

function both(type: ColumnType): FileTypes {
  return { v1: type, v2_beta: type };
}

/** `v1` has lists as text. JSON is text in both: readers of its annotation refuse arrays, or give bytes. */
const FILE_TYPE: Readonly<Record<ExportColumnType, FileTypes>> = {
  uuid: both('uuid'),
  'uuid[]': { v1: 'uuid-list-as-text', v2_beta: 'uuid-list' },
  text: both('text'),
  'text[]': { v1: 'text-list-as-text', v2_beta: 'text-list' },
  timestamptz: both('timestamp'),
  bool: both('bool'),
  int8: both('int64'),
  float8: both('double'),
  numeric: both('decimal'),
};

/** The column of a file. @param field index of it in the tuples */
export function parquetColumn(
  { name, fileType, nullable, dictionary, statistics, payload }: ExportColumn,
  field: number,
  format: FormatVersion,
): ParquetColumn {
  return { name, type: fileType[format], nullable, field, dictionary, statistics, longPages: payload };
}

interface ColumnOptions {
  readonly sql?: string;
  readonly required?: boolean;
  readonly repeating?: boolean;
  readonly statistics?: boolean;
  readonly cursor?: keyof ExportCursor;
}

/** A column of the table `runs`; `payload` and `json` are those of `run_payloads`. */
export function column(name: string, type: ExportColumnType, options: ColumnOptions = {}): ExportColumn {
  return Object.freeze({
    name,
    type,
    sql: options.sql ?? `r.${name}`,
    payload: false,
    isJson: false,
    nullable: !options.required,
    fileType: FILE_TYPE[type],
    dictionary: options.repeating ?? false,
    statistics: options.statistics ?? true,
    cursor: options.cursor,
  });
}

/** The most that a column of a file holds: sums may be more, and no export fails for them. */
const MOST = { int8: '9223372036854775807', numeric: '99999999.9999999999' };

/** Tokens or a cost: of a root those of its trace. */
function total(name: TotalColumn, type: keyof typeof MOST): ExportColumn {
  return column(name, type, { sql: `(${joinedTotalSql('r', name, MOST[type])})::${type}` });
}

function payload(name: string, kind: 'text' | 'json', sql = `p.${name}`): ExportColumn {
  const base = column(name, 'text', { sql, statistics: false });
  return Object.freeze({ ...base, payload: true, isJson: kind === 'json' });
}

/**
 * The result of `feedback_stats` for a run none of whose keys has several entries, as most have; null for any
 * other. It is part of the export's own statement because the function begins and ends a statement of its own
 * for each run.
 */
const STATS_OF_SINGLES = `(SELECT json_object_agg(f.key, json_build_object(
    'n', CASE WHEN f.score IS NOT NULL OR f.value_json IS NOT NULL THEN 1 ELSE 0 END,
    'avg', f.score, 'stdev', NULL, 'min', f.score, 'max', f.score,
    'errors', CASE WHEN f.is_error THEN 1 ELSE 0 END,
    'values', CASE WHEN f.value_json LIKE '"%' AND f.value IS NOT NULL
      THEN ('{ ' || to_json(left(f.value, 100)) || ' : 1 }')::json ELSE '{}' END,
    'comments', CASE WHEN f.comment IS NULL THEN '[]' ELSE json_build_array(left(f.comment, 200)) END,
    'sources', CASE WHEN f.source IS NULL THEN '[]' ELSE json_build_array(left(f.source, 100)) END,
    'contains_thread_feedback', false
  ) ORDER BY f.key)::text
  FROM feedback f
  WHERE f.tenant_id = r.tenant_id AND f.run_id = r.id AND f.project_id = r.project_id AND f.trace_id = r.trace_id
  HAVING count(*) = count(DISTINCT f.key))`;

/**
 * The check for any feedback in the window runs once per statement, so runs of a project without feedback
 * cost nothing. The fence keeps the second lookup one by key, instead of a hash of all feedback.
 */
const FEEDBACK_STATS = `CASE WHEN (SELECT EXISTS (SELECT FROM feedback f WHERE f.tenant_id = ${setting('tenant', 'uuid')}
  AND f.project_id = ${setting('project', 'uuid')} AND f.start_time >= ${setting('start', 'timestamptz')}
  AND f.start_time < ${setting('end', 'timestamptz')}))
  AND EXISTS (SELECT FROM feedback f WHERE f.tenant_id = r.tenant_id AND f.run_id = r.id OFFSET 0)
  THEN coalesce(${STATS_OF_SINGLES}, feedback_stats(r.tenant_id, r.project_id, r.id, r.trace_id)) END`;

const TYPE_IN_COPY = {
  uuid: 'uuid',
  uuids: 'uuid[]',
  text: 'text',
  texts: 'text[]',
  time: 'timestamptz',
  bool: 'bool',
  int8: 'int8',
  numeric: 'numeric',
  status: 'text',
  tier: 'text',
  details: 'text',
} as const satisfies Readonly<Record<Exclude<RunColumnType, 'marks'>, ExportColumnType>>;

/** A column of the table of runs, as it says that exports have it. */
function exportedColumn({ name, type, required, isTotal, exported }: ListedColumn): ExportColumn[] {
  if (!exported || type === 'marks') return [];
  if (isTotal) return [total(name as TotalColumn, type === 'int8' ? 'int8' : 'numeric')];
  const sql = type === 'tier' ? tierSql('r') : `r.${name}`;
  return [column(exported.as ?? name, TYPE_IN_COPY[type], { ...exported, sql, required })];
}

/**
 * Every exportable field in the one fixed order of all files: light columns first, payloads last. Light ones are those of
 * `RUN_COLUMNS` that say so. `error` is plain text; the other payloads are JSON text exactly as the client sent it. Costs
 * are NUMERIC(18,10).
 */
export const EXPORT_COLUMNS: readonly ExportColumn[] = Object.freeze([
  ...COLUMN_LIST.flatMap(exportedColumn),
  payload('error', 'text'),
  payload('feedback_stats', 'json', FEEDBACK_STATS),
  payload('events', 'json'),
  payload('extra', 'json'),
  payload('inputs', 'json'),
  payload('outputs', 'json'),
]);

/** Columns of the files of sealed days: those of exports that do not change by what is said of a run elsewhere, and all payloads. */
export const SEGMENT_COLUMNS: readonly ExportColumn[] = Object.freeze([
  ...EXPORT_COLUMNS.filter(({ name }) => name !== 'feedback_stats'),
  payload('serialized', 'json'),
]);

/** Segment and ordinal of a run without a row of `run_payloads`; they are read behind the other columns. */
export const SEALED_REF_COLUMNS: readonly ExportColumn[] = Object.freeze([
  column('segment', 'uuid', { sql: 'CASE WHEN p.id IS NULL THEN r.segment END' }),
  column('ordinal', 'int8', { sql: 'r.ordinal::int8' }),
]);

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
