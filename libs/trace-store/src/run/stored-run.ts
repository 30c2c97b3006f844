import { formatInstant, type Instant } from '#lib/time';
import type { UsageDetails } from '../usage/usage-details.js';

/** Retention classes of a trace, in the hosted service's names. */
export const TRACE_TIERS = ['longlived', 'shortlived'] as const;
export type TraceTier = (typeof TRACE_TIERS)[number];

/** Tier of runs that were stored without one, and of those for which none is set. */
export const DEFAULT_TIER: TraceTier = 'longlived';

export function isTraceTier(value: unknown): value is TraceTier {
  return value === 'longlived' || value === 'shortlived';
}

/** SQL of a run's tier, by the alias of the table. */
export function tierSql(table: string): string {
  return `coalesce(nullif(${table}.trace_tier, ''), '${DEFAULT_TIER}')`;
}

/** Parts of a run that are kept as the bytes they arrived in and never parsed and printed again. */
export const PAYLOAD_FIELDS = ['inputs', 'outputs', 'extra', 'events', 'error', 'serialized'] as const;
export type PayloadField = (typeof PAYLOAD_FIELDS)[number];

/** Place of a run: its key in every partitioned table. */
export type RunPlace = Pick<RunRow, 'tenantId' | 'projectId' | 'startTime' | 'id' | 'traceId'>;

/** The UTC range of the rows' days, so that Postgres looks into their partitions only. */
export function timeBounds(places: readonly RunPlace[]): readonly [string, string] {
  let [min, max] = [places[0]?.startTime ?? 0n, places[0]?.startTime ?? 0n];
  for (const { startTime } of places) {
    if (startTime < min) min = startTime;
    if (startTime > max) max = startTime;
  }
  return [formatInstant(min), formatInstant(max)];
}

/**
 * The places as parameters for `unnest(uuid[], timestamptz[], uuid[], uuid[])`: project, start time, id,
 * trace. Their texts need no quotes in an array, so they are not checked for them.
 */
export function columnsOf(places: readonly RunPlace[]): readonly string[] {
  const columns = [
    places.map(({ projectId }) => projectId),
    places.map(({ startTime }) => formatInstant(startTime)),
    places.map(({ id }) => id),
    places.map(({ traceId }) => traceId),
  ];
  return columns.map((texts) => `{${texts.join()}}`);
}

export type RunStatus = 'pending' | 'success' | 'error' | 'interrupted';

/** Types of columns of runs, with their values in a row. */
interface ColumnTypes {
  readonly uuid: string;
  readonly uuids: readonly string[];
  readonly text: string;
  readonly texts: readonly string[];
  readonly time: Instant;
  readonly bool: boolean;
  readonly int8: number;
  /** Decimal text with at most ten digits after the point. */
  readonly numeric: string;
  readonly status: RunStatus;
  /** Empty: a run that was stored without one. */
  readonly tier: TraceTier | '';
  readonly details: UsageDetails;
  readonly marks: Buffer;
}
export type RunColumnType = keyof ColumnTypes;
export type ValueOf<Type extends RunColumnType> = ColumnTypes[Type];

/** Readers of the members of an operation. */
export type Sent = 'name' | 'word' | 'uuid' | 'time' | 'status' | 'tags' | 'tier';

/** Column of the table `runs`. */
interface RunColumn {
  readonly type: RunColumnType;
  /** A run always has a value, `EMPTY_VALUES` where none came; others may be null. */
  readonly required?: true;
  /**
   * Operations may change it. `replace`: a value of an update replaces the stored one, a late create fills a gap.
   * `rule`: as `run-group.ts` says, together with other columns. Absent: fixed when the run is made.
   */
  readonly changes?: 'replace' | 'rule';
  /** The member of its name in an operation is read like this. */
  readonly sent?: Sent;
  /** Tokens or a cost: members of their name are read as a usage, and traces have totals of them. */
  readonly isTotal?: true;
  /** Exports have it, in the order of the table. */
  readonly exported?: RunExport;
}

/** Form of a column of runs in the files of exports. */
interface RunExport {
  /** Name in the files, if not that of the column. */
  readonly as?: string;
  /** Few distinct values in a row group, most of the time. */
  readonly repeating?: true;
  /** Not searched by range. */
  readonly statistics?: false;
  readonly cursor?: 'id' | 'traceId' | 'startTime';
}

/**
 * Every column of a run. Everything that knows the columns follows from this table (docs/design/trace-store.md): a column
 * more is a row more, and a migration.
 */
export const RUN_COLUMNS = Object.freeze({
  id: { type: 'uuid', required: true, exported: { cursor: 'id' } },
  tenant_id: { type: 'uuid', required: true, exported: { repeating: true } },
  project_id: { type: 'uuid', required: true, exported: { as: 'session_id', repeating: true } },
  trace_id: { type: 'uuid', required: true, exported: { cursor: 'traceId' } },
  parent_run_id: { type: 'uuid', exported: {} },
  // root first
  parent_run_ids: { type: 'uuids', required: true, exported: { statistics: false } },
  reference_example_id: { type: 'uuid', changes: 'replace', sent: 'uuid', exported: {} },
  name: { type: 'text', required: true, changes: 'replace', sent: 'name', exported: { repeating: true } },
  run_type: { type: 'text', required: true, changes: 'replace', sent: 'word', exported: { repeating: true } },
  start_time: { type: 'time', required: true, exported: { cursor: 'startTime' } },
  end_time: { type: 'time', changes: 'replace', sent: 'time', exported: {} },
  status: { type: 'status', required: true, changes: 'rule', sent: 'status', exported: { repeating: true } },
  is_root: { type: 'bool', required: true, exported: { statistics: false } },
  dotted_order: { type: 'text', required: true, exported: { statistics: false } },
  trace_tier: { type: 'tier', required: true, changes: 'rule', sent: 'tier', exported: { repeating: true } },
  tags: {
    type: 'texts',
    required: true,
    changes: 'replace',
    sent: 'tags',
    exported: { repeating: true, statistics: false },
  },
  total_tokens: { type: 'int8', changes: 'rule', isTotal: true, exported: {} },
  prompt_tokens: { type: 'int8', changes: 'rule', isTotal: true, exported: {} },
  completion_tokens: { type: 'int8', changes: 'rule', isTotal: true, exported: {} },
  total_cost: { type: 'numeric', changes: 'rule', isTotal: true, exported: {} },
  prompt_cost: { type: 'numeric', changes: 'rule', isTotal: true, exported: {} },
  completion_cost: { type: 'numeric', changes: 'rule', isTotal: true, exported: {} },
  // found in the events
  first_token_time: { type: 'time', changes: 'replace', exported: {} },
  // found in the metadata
  thread_id: { type: 'text', changes: 'replace' },
  // the row of the price table that costs are from; null for those of the sender
  price_id: { type: 'uuid', changes: 'rule' },
  usage_details: { type: 'details', changes: 'rule' },
  // the model that was called, as the sender names it, and the member that named it; without one `ls_model_name`
  model: { type: 'text', changes: 'rule' },
  model_member: { type: 'text', changes: 'rule' },
  provider: { type: 'text', changes: 'replace' },
  // beginnings of inputs and outputs of a root, see `search-marks.ts`; rows that are read leave it out
  search_marks: { type: 'marks', changes: 'rule' },
} as const satisfies Readonly<Record<string, RunColumn>>);

type Columns = typeof RUN_COLUMNS;
type ColumnName = keyof Columns;
/** Columns whose rows of the table have these members. */
export type ColumnsWith<Members> = {
  [Name in ColumnName]: Columns[Name] extends Members ? Name : never;
}[ColumnName];

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name;
/** Property of a column in a row. */
export type PropertyOf<Name extends ColumnName> = CamelCase<Name>;

/** The typed columns of a run; its payloads are apart. */
export type RunRow = {
  readonly [Name in ColumnName as PropertyOf<Name>]:
    ColumnTypes[Columns[Name]['type']] | (Columns[Name] extends { required: true } ? never : undefined);
};

/** A column as the code that follows from the table needs it. */
export interface ListedColumn extends RunColumn {
  readonly name: ColumnName;
  readonly property: keyof RunRow;
}

export const COLUMN_LIST: readonly ListedColumn[] = Object.freeze(
  Object.entries(RUN_COLUMNS).map(([name, column]) =>
    Object.freeze({
      ...column,
      name: name as ColumnName,
      property: name.replace(/_(.)/g, (_all, letter: string) => letter.toUpperCase()) as keyof RunRow,
    }),
  ),
);

/** Values of columns that are always set and that nobody has said anything of. */
const EMPTY_VALUES: { readonly [Type in RunColumnType]: ColumnTypes[Type] | undefined } = {
  uuid: '',
  uuids: [],
  text: '',
  texts: [],
  time: 0n,
  bool: false,
  int8: undefined,
  numeric: undefined,
  status: 'pending',
  tier: '',
  details: undefined,
  marks: undefined,
};

/**
 * A row in which nothing is known, to be copied; its members have the order of the table. It is not frozen: copies of a
 * frozen object take several times as long.
 */
export const EMPTY_RUN = Object.fromEntries<unknown>(
  COLUMN_LIST.map(({ property, type, required }) => [property, required ? EMPTY_VALUES[type] : undefined]),
) as RunRow;

/** Payloads as stored: JSON text as it came, `error` as plain text. */
export interface RunPayloads {
  readonly inputs?: Buffer;
  readonly outputs?: Buffer;
  readonly extra?: Buffer;
  readonly events?: Buffer;
  readonly error?: Buffer;
  readonly serialized?: Buffer;
}

/** Ids of the runs below a run, in the order of the trace. */
export interface RunChildren {
  readonly all: readonly string[];
  readonly direct: readonly string[];
}

/** A run with its payloads. */
export interface StoredRun {
  readonly row: RunRow;
  readonly payloads: RunPayloads;
  /** Statistics of its feedback by key, as JSON text; absent when it has none or they were not requested. */
  readonly feedbackStats?: string | undefined;
  /** Absent when they were not requested, or the trace is too large for them. */
  readonly children?: RunChildren | undefined;
}
