import { PublicError } from '#lib/errors';

/**
 * A thread as the wire shows it, as JSON text: values of graphs are passed on as they wrote them, and never
 * parsed here.
 */
export type ThreadText = string;

export type ThreadField =
  | 'thread_id'
  | 'created_at'
  | 'updated_at'
  | 'state_updated_at'
  | 'metadata'
  | 'status'
  | 'config'
  | 'values'
  | 'interrupts'
  | 'error';

const quoted = (column: string): string => `'"' || ${column} || '"'`;
const moment = (column: ThreadField): string => quoted(`agentplane.wire_time(${column})`);
const document = (column: ThreadField): string => `coalesce(${column}::text, 'null')`;

/** SQL of each member, in the order of the wire. */
const MEMBERS: Readonly<Record<ThreadField, string>> = {
  thread_id: quoted('thread_id::text'),
  created_at: moment('created_at'),
  updated_at: moment('updated_at'),
  state_updated_at: moment('state_updated_at'),
  metadata: document('metadata'),
  status: quoted('status'),
  config: document('config'),
  values: document('values'),
  interrupts: document('interrupts'),
  error: document('error'),
};

export const THREAD_FIELDS = Object.keys(MEMBERS) as readonly ThreadField[];

/** Fields that may hold much. */
export const LARGE_THREAD_FIELDS: readonly ThreadField[] = ['metadata', 'values', 'interrupts', 'error'];

/** SQL: these fields of a thread as the text of a JSON object. */
export function threadJson(fields: readonly ThreadField[]): string {
  const members = THREAD_FIELDS.filter((field) => fields.includes(field)).map(
    (field, at) => `'${at > 0 ? ',' : ''}"${field}":', ${MEMBERS[field]}`,
  );
  return `concat('{', ${[...members, "'}'"].join(', ')})`;
}

/** SQL: the column `thread`, a {@link ThreadText}. */
export const THREAD_TEXT = `${threadJson(THREAD_FIELDS)} AS thread`;

export interface ThreadTextRow {
  readonly thread: ThreadText;
}

export function threadNotFound(threadId: string): PublicError {
  return new PublicError('not_found', `Thread ${threadId} not found`);
}
