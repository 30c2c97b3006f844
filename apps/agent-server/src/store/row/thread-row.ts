import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { visible } from '../scope.js';

function wireTime(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/**
 * A thread `t` as JSON text, as the wire shows it. Documents stay as they are kept: neither the driver nor the server
 * parses them and prints them again.
 */
export const THREAD_JSON = `concat(
  '{"thread_id":"', t.thread_id, '","created_at":"', ${wireTime('t.created_at')},
  '","updated_at":"', ${wireTime('t.updated_at')}, '","state_updated_at":"', ${wireTime('t.state_updated_at')},
  '","metadata":', t.metadata, ',"status":"', t.status, '","config":', t.config,
  ',"values":', coalesce(t.values::text, 'null'), ',"interrupts":', t.interrupts,
  ',"error":', coalesce(t.error::text, 'null'), '}')`;

/** Search for threads, or for their number. */
export interface ThreadSearch {
  readonly ids?: readonly string[] | undefined;
  readonly metadata?: JsonObject | undefined;
  /** Threads whose metadata contain one of these are left out. */
  readonly excluded?: readonly JsonObject[] | undefined;
  readonly status?: string | undefined;
  readonly values?: JsonObject | undefined;
}

/** The conditions of a search, the scope's first: its values begin at `$2`. */
export function threadConditions(search: ThreadSearch): { text: string; values: unknown[] } {
  const conditions = [visible('metadata')];
  const values: unknown[] = [];
  function add(condition: (position: string) => string, value: unknown): void {
    values.push(value);
    conditions.push(condition(`$${values.length + 1}`));
  }
  if (search.ids) add((at) => `thread_id = ANY(${at}::uuid[])`, search.ids);
  if (search.metadata && Object.keys(search.metadata).length > 0)
    add((at) => `metadata @> ${at}::jsonb`, jsonbText(search.metadata));
  if (search.excluded) add((at) => `NOT metadata @> ANY (${at}::jsonb[])`, search.excluded.map(jsonbText));
  if (search.status) add((at) => `status = ${at}`, search.status);
  if (search.values && Object.keys(search.values).length > 0)
    add((at) => `agentplane.searchable(values) @> ${at}::jsonb`, jsonbText(search.values));
  return { text: conditions.join(' AND '), values };
}

/** Lifetime of a thread. */
export interface ThreadTtl {
  /** Action at its end: the thread is deleted, or all its states but the last. */
  readonly strategy: 'delete' | 'keep_latest';
  /** Minutes since its last change. */
  readonly minutes: number;
}

/** The same as the wire shows it. */
export interface WireThreadTtl {
  readonly strategy: ThreadTtl['strategy'];
  readonly ttl_minutes: number;
  readonly expires_at: string;
}

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
