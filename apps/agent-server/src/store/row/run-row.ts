import { isJsonObject, type JsonObject, type JsonWalk } from '#lib/json';
import { chosenMembers } from '../../wire/wire-value.js';
import { jsonbText, jsonText } from '../json-text.js';
import type { StreamMode } from '../../stream/stream-modes.js';
import type { Scope } from '../scope.js';

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
  /** Reason for which it was cancelled; null while it is not. */
  readonly cancel_reason: string | null;
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
  'cancel_reason',
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
  r.metadata::text AS metadata, ${kwargs} AS kwargs, r.multitask_strategy,
  CASE WHEN r.status IN ('running', 'interrupted') THEN r.cancel_reason END AS cancel_reason`;
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

/**
 * Summary of a run that is read without its input: a few words, in a separate column. Inputs are megabytes,
 * and the heap that one takes once it is parsed may be twenty times its length.
 */
export interface RunOutline {
  /** Length of the text of its kwargs. */
  readonly bytes: number;
  /** The identity of the caller who made it; absent when authentication is off. */
  readonly caller?: string;
  readonly webhook?: string;
  readonly streamed?: boolean;
  readonly resumable?: boolean;
  readonly protocol?: 'v2';
  readonly feedback_keys?: readonly string[];
  /** Absent for runs of an agent that assigns none. */
  readonly priority?: number;
  readonly fairness_group?: string;
}

/** SQL: the outline of a run. Servers of an earlier version write none: it is made of the input then. */
const outlineOf = (run: 'r.' | 'claimed.' | ''): string =>
  `coalesce(${run}outline, agentplane.outline_of(${run}kwargs))`;

/** SQL: the outline of a run `r`. */
export const OUTLINE = outlineOf('r.');

/** SQL: the identity of the caller who made a run `r`; null when authentication is off. */
export const CALLER_OF_RUN = `${OUTLINE} ->> 'caller'`;

/** The same of the variable `claimed`. */
export const CALLER_OF_CLAIMED = `${outlineOf('claimed.')} ->> 'caller'`;

/** Bits of an owner below its priority. */
export const OWNER_BITS = 60;

/**
 * SQL: the owner of a run, as a number that grows with its priority: above the lowest {@link OWNER_BITS} bits the priority,
 * in them its fairness group, or without one the caller who made it. Runs without a caller have one owner. It names columns
 * alone, for an index and for the queries that use it.
 */
export const OWNER = `((coalesce((${outlineOf('')} ->> 'priority')::int, 0)::bigint << ${OWNER_BITS})
  + (hashtextextended(coalesce('group ' || (${outlineOf('')} ->> 'fairness_group'), ${outlineOf('')} ->> 'caller', ''), 0) & ${2n ** 60n - 1n}))`;

/** Settings by which a run waits among others. */
export interface RunPriority {
  /** From -5, which begins first, to 5. */
  readonly priority: number;
  /** Runs of one group share their turns; undefined: those of the caller. */
  readonly fairness_group?: string;
}

/** JSON text of the outline. @param kwargsText JSON text of the run's kwargs */
export function outlineText(
  { kwargs, priority }: Pick<StoredRun, 'kwargs' | 'priority'>,
  kwargsText: string,
): string {
  const { langgraph_auth_user_id: caller } = kwargs.caller;
  const { webhook, streamed, resumable, protocol, feedback_keys } = kwargs;
  const outline: RunOutline = {
    bytes: Buffer.byteLength(kwargsText),
    ...(typeof caller === 'string' ? { caller } : {}),
    ...(webhook === undefined ? {} : { webhook }),
    ...(streamed ? { streamed } : {}),
    ...(resumable ? { resumable } : {}),
    ...(protocol === undefined ? {} : { protocol }),
    ...(feedback_keys === undefined ? {} : { feedback_keys }),
    ...priority,
  };
  return jsonbText(outline);
}

type Breakpoints = '*' | readonly string[] | null | undefined;

/**
 * A run as its row holds it: all that an attempt at any server needs. The assistant's configuration is part of it, as it
 * was when the run was made.
 */
export interface StoredRun {
  readonly runId: string;
  readonly threadId: string;
  /** True for a run without a thread: its row is removed at the end and no state is kept. */
  readonly isTemporary: boolean;
  readonly assistantId: string;
  readonly graphId: string;
  readonly metadata: JsonObject;
  readonly priority?: RunPriority;
  /** JSON of the row, shown on the wire under the same names. */
  readonly kwargs: {
    readonly input?: unknown;
    readonly command?: {
      readonly update?: unknown;
      readonly resume?: unknown;
      readonly goto?: unknown;
    } | null;
    readonly config?: {
      readonly tags?: readonly string[] | null;
      readonly recursion_limit?: number | null;
      readonly run_name?: string | null;
      readonly configurable?: JsonObject | null;
      readonly metadata?: JsonObject | null;
    } | null;
    readonly context?: JsonObject | null;
    readonly stream_mode: readonly StreamMode[];
    readonly subgraphs: boolean;
    /** The request that made it reads its output. */
    readonly streamed?: boolean;
    /** Its output may be read from its beginning, also later. */
    readonly resumable?: boolean;
    /** Its output is that of the thread stream protocol. */
    readonly protocol?: 'v2';
    readonly interrupt_before?: Breakpoints;
    readonly interrupt_after?: Breakpoints;
    readonly checkpoint?: {
      readonly checkpoint_id?: string | null;
      readonly checkpoint_ns?: string | null;
      readonly checkpoint_map?: JsonObject | null;
    } | null;
    readonly durability?: 'sync' | 'async' | 'exit' | null;
    /** Keys of feedback, for which its output ends with addresses. */
    readonly feedback_keys?: readonly string[];
    /** Called when the run has ended. */
    readonly webhook?: string;
    /** Added to `configurable` by the server: headers and the caller. */
    readonly caller: JsonObject;
  };
}

/** Rules by which a new run enters the queue. */
export interface Queueing {
  /** Treatment of other active runs on its thread. */
  readonly strategy: 'enqueue' | 'reject' | 'interrupt' | 'rollback';
  readonly delayMs: number;
  /** This server has a free place and takes the run at once when nothing is before it. */
  readonly startsHere: boolean;
  /** A reader of this server waits for its output. */
  readonly isWatched: boolean;
  /** Metadata of the thread, which is made when it does not exist; undefined: it must exist. */
  readonly newThread: JsonObject | undefined;
}

/** Outcome of queueing a new run. */
export interface QueuedRun {
  readonly status: Extract<RunStatus, 'pending' | 'running'>;
  readonly createdAt: Date;
  /** True when its thread had no checkpoint yet; undefined: not checked. */
  readonly isThreadEmpty?: boolean;
}

/** A run without a thread, with the scope of the caller who requested it. */
export interface TemporarySubmission {
  readonly scope: Scope;
  readonly run: StoredRun;
  readonly queueing: Pick<Queueing, 'delayMs' | 'startsHere' | 'isWatched'>;
}

/**
 * A run on its way into the database: its text is made once, when it is stored, since inputs may be large.
 */
export class TemporaryRow {
  #text: string | undefined;

  constructor(readonly submission: TemporarySubmission) {}

  /** JSON. */
  get text(): string {
    return (this.#text ??= rowText(this.submission));
  }
}

function rowText({ scope, run, queueing }: TemporarySubmission): string {
  const filter = scope.kind === 'worker' ? '' : `,"visible":[${scope.filter.alternatives.join(',')}]`;
  // kwargs are passed as text: extracting rows from JSON decodes their contents, and inputs may hold NUL and
  // lone surrogates
  const kwargsText = jsonText(run.kwargs);
  const kwargs = JSON.stringify(kwargsText);
  return (
    `{"run_id":"${run.runId}","thread_id":"${run.threadId}","assistant_id":"${run.assistantId}",` +
    `"graph_id":${JSON.stringify(run.graphId)},"metadata":${jsonbText(run.metadata)},` +
    `"kwargs":${kwargs},"outline":${outlineText(run, kwargsText)},"delay_ms":${queueing.delayMs},"start_here":${queueing.startsHere},` +
    `"is_watched":${queueing.isWatched}${filter}}`
  );
}

/** A run on a thread that exists, on its way into the database. */
export class ThreadSubmission {
  #kwargs: string | undefined;
  #metadata: string | undefined;

  constructor(
    readonly scope: Scope,
    readonly run: StoredRun,
    readonly queueing: Queueing,
  ) {}

  /** JSON; made once: inputs may be large. */
  get kwargs(): string {
    return (this.#kwargs ??= jsonText(this.run.kwargs));
  }

  /** JSON. */
  get metadata(): string {
    return (this.#metadata ??= jsonbText(this.run.metadata));
  }

  /** Length of what it adds to a statement; outlines are a few words. */
  get length(): number {
    return this.kwargs.length + this.metadata.length;
  }

  /** JSON. */
  get outline(): string {
    return outlineText(this.run, this.kwargs);
  }
}
