import { isJsonObject, type JsonObject, type JsonWalk } from '#lib/json';
import { chosenMembers } from '../../wire/chosen-members.js';

/** Fields of a row that the wire shows as text. */
type Timed<K extends string> = Readonly<Record<K, Date>>;

/** A row with its times as ISO 8601 text. */
export function withWireTimes<T extends Timed<'created_at' | 'updated_at'>>(
  row: T,
): Omit<T, 'created_at' | 'updated_at'> & { readonly created_at: string; readonly updated_at: string } {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

export type RunStatus = 'pending' | 'running' | 'success' | 'error' | 'timeout' | 'interrupted';
export type CancelAction = 'interrupt' | 'rollback';

/** A run as the wire shows it. */
export interface WireRun {
  readonly run_id: string;
  readonly thread_id: string;
  readonly assistant_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly status: RunStatus;
  readonly metadata: JsonObject;
  readonly kwargs: unknown;
  readonly multitask_strategy: string;
}

/** Error that ended a failed run. */
export interface RunError {
  readonly error: string;
  readonly message: string;
}

export type RunField = keyof WireRun;

export const RUN_FIELDS: readonly RunField[] = [
  'run_id',
  'thread_id',
  'assistant_id',
  'created_at',
  'updated_at',
  'status',
  'metadata',
  'kwargs',
  'multitask_strategy',
];

/** A run as its row shows it: the data of its caller as JSON texts, none of which is parsed. */
export interface RunRow extends Omit<WireRun, 'created_at' | 'updated_at' | 'metadata' | 'kwargs'> {
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly metadata: string;
  /** Kwargs with their caller. Null when they are not read. */
  readonly kwargs: string | null;
}

/** Columns of a run `r`. @param bounded SQL of its kwargs as they are read */
export function runColumns(
  fields: readonly RunField[],
  bounded = (kwargs: string): string => kwargs,
): string {
  const kwargs = fields.includes('kwargs') ? bounded('r.kwargs::text') : 'NULL::text';
  return `r.run_id, r.thread_id, r.assistant_id, r.created_at, r.updated_at, r.status,
  r.metadata::text AS metadata, ${kwargs} AS kwargs, r.multitask_strategy`;
}

export const ENDED_STATUSES: readonly RunStatus[] = ['success', 'error', 'timeout', 'interrupted'];

/**
 * Kwargs of a run as its readers see them. The caller is left out: its headers and the fields of its user may
 * be tokens, and others may read the thread.
 */
export function shownKwargs(kwargs: unknown): JsonObject {
  const { caller: _caller, ...shown } = isJsonObject(kwargs) ? kwargs : {};
  return shown;
}

/** These fields of a run as the text of a JSON object. */
export function* runText(row: RunRow, fields: readonly RunField[]): JsonWalk<string> {
  const { metadata, kwargs, ...head } = row;
  const members: Readonly<Record<string, unknown>> = withWireTimes(head);
  const texts: string[] = [];
  for (const field of RUN_FIELDS) {
    if (!fields.includes(field)) continue;
    const text =
      field === 'metadata'
        ? metadata
        : field === 'kwargs'
          ? yield* withoutCaller(kwargs ?? '{}')
          : JSON.stringify(members[field]);
    texts.push(`"${field}":${text}`);
  }
  return `{${texts.join(',')}}`;
}

/** The same of JSON text. */
export function withoutCaller(kwargs: string, from = 0): JsonWalk<string> {
  return chosenMembers(kwargs, (name) => name !== 'caller', from);
}
