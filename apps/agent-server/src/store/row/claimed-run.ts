import { OUTLINE, type RunOutline, type CancelAction, type RunStatus, type StoredRun } from './run-row.js';

/**
 * Condition on a run `r` that a server may begin now: due, alone on its thread, of a graph in the array parameter.
 * @param graphIds SQL: the array, for example `$1`
 */
export function claimable(graphIds: string): string {
  return `r.status = 'pending' AND r.start_after <= clock_timestamp() AND r.graph_id = ANY(${graphIds}) AND NOT EXISTS (
    SELECT 1 FROM agentplane.runs o WHERE o.thread_id = r.thread_id AND (o.status = 'running'
      OR (o.status = 'pending' AND o.ordinal < r.ordinal AND o.start_after <= clock_timestamp())))`;
}

/**
 * Input of an attempt beside its claim: JSON text with metadata and kwargs. It is kept until it is handed on,
 * and not for as long as the run is in progress.
 */
export class RunInput {
  #text: string | undefined;

  /** @param text undefined: it is large, and read when the attempt begins */
  constructor(text?: string) {
    this.#text = text;
  }

  /** The text, once. */
  take(): string | undefined {
    const text = this.#text;
    this.#text = undefined;
    return text;
  }
}

/**
 * A run in progress, with the time that all its attempts have worked: by the monotonic clock of their
 * servers.
 */
export interface WorkedRun extends Pick<ClaimedRun, 'runId' | 'attempt'> {
  readonly workedMs: number;
}

/** End of a run on a thread. */
export interface RunEnd {
  readonly status: Extract<RunStatus, 'success' | 'error' | 'interrupted' | 'timeout'>;
  readonly threadStatus: 'idle' | 'interrupted' | 'error';
  readonly error?: { readonly error: string; readonly message: string };
  /** JSON text of the thread's values; undefined leaves them as they are. */
  readonly values?: string;
  /** JSON text of lists of questions, by the tasks that ask. */
  readonly interrupts?: string;
  /** Forget the run and its checkpoints. */
  readonly isRollback?: boolean;
}

export interface Acceptance {
  /** False: a newer attempt has the run, and nothing was written. */
  readonly isAccepted: boolean;
  /** Another run waits on the thread. */
  readonly hasNext: boolean;
}

/**
 * Changes to the row `r` of a run without a thread that has ended while its output may still be read: it
 * stays for a while, without its input. The arguments are SQL.
 */
export function endedTemporary(status: string, error: string, isResumable: string): string {
  return `status = ${status}, error = ${error}, lease_until = NULL, ended_at = clock_timestamp(),
    updated_at = clock_timestamp(), kwargs = json_build_object('resumable', ${isResumable})`;
}

/**
 * SQL: true when a repeated end may have been recorded by a try whose answer was lost: no newer attempt has
 * the run. The arguments are SQL.
 */
export function noOtherAttempt(runId: string, attempt: string): string {
  return `NOT EXISTS (SELECT FROM agentplane.runs r WHERE r.run_id = ${runId} AND r.attempt <> ${attempt})`;
}

/** The attempt of a run that writes. */
export interface Fence {
  readonly runId: string;
  readonly attempt: number;
}

/**
 * The row of the run as long as this attempt has it: `$1` is the run, `$2` the attempt. The shared lock makes a take-over
 * wait for the statement, and the statement see a take-over.
 */
export const FENCE = `fence AS MATERIALIZED (
  SELECT 1 FROM agentplane.runs WHERE run_id = $1 AND attempt = $2 AND status = 'running' FOR SHARE)`;

/** Thrown into a run whose lease another server holds by now: later writes of the run must not be kept. */
export class FencedError extends Error {
  override readonly name = 'FencedError';

  constructor(runId: string, attempt: number) {
    super(`run ${runId}: attempt ${attempt} is no longer the current one`);
  }
}

/** A larger input is read when its attempt begins: many runs may be claimed at once. */
const MAX_CLAIMED_BYTES = 64 * 1024;

/** A run that this server holds the lease of, without its input. */
export interface ClaimedRun extends Pick<
  StoredRun,
  'runId' | 'threadId' | 'isTemporary' | 'assistantId' | 'graphId'
> {
  /** Counts from 1; every write of the run carries it and is refused once it is outdated. */
  readonly attempt: number;
  /** Milliseconds that its earlier attempts have worked. */
  readonly ranMs: number;
  readonly input: RunInput;
  readonly webhook: string | undefined;
  readonly feedbackKeys?: readonly string[] | undefined;
  /** Its output may be read from its beginning, also later. */
  readonly isResumable: boolean;
  readonly cancel: CancelAction | undefined;
  /** Servers whose readers wait for this run's output. */
  readonly watchers: readonly string[];
  /** True when its output has or will have readers: every attempt records it. */
  readonly isStreamed: boolean;
  /** True when its thread had no checkpoint when the run was made, and began: it need not be looked up. */
  readonly isThreadEmpty?: boolean;
}

export interface ClaimedRow {
  readonly run_id: string;
  readonly thread_id: string;
  readonly temporary: boolean;
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly attempt: number;
  readonly worked_ms: number;
  readonly outline: RunOutline;
  readonly input: string | null;
  readonly cancel: CancelAction | null;
  readonly watchers: readonly string[];
  readonly streamed: boolean;
}

const HEADER = `r.run_id, r.thread_id, r.temporary, r.assistant_id, r.graph_id, r.attempt, ${OUTLINE} AS outline, r.cancel,
  r.watchers, r.streamed, r.worked_ms`;

/** SQL: the input of an attempt of a run `r`, as JSON text. */
export const INPUT = `'{"metadata":' || r.metadata::text || ',"kwargs":' || r.kwargs::text || '}'`;

/** Columns that a claiming statement returns of a run `r`: its input only when it is small. */
export const CLAIMED_COLUMNS = `${HEADER}, CASE WHEN (${OUTLINE} ->> 'bytes')::int <= ${MAX_CLAIMED_BYTES}
  AND octet_length(r.metadata::text) <= ${MAX_CLAIMED_BYTES} THEN ${INPUT} END AS input`;

/** The same without any input. */
export const ENDING_COLUMNS = `${HEADER}, NULL AS input`;

export function claimedRun(row: ClaimedRow): ClaimedRun {
  return {
    runId: row.run_id,
    threadId: row.thread_id,
    isTemporary: row.temporary,
    assistantId: row.assistant_id,
    graphId: row.graph_id,
    attempt: row.attempt,
    ranMs: row.worked_ms,
    input: new RunInput(row.input ?? undefined),
    webhook: row.outline.webhook,
    feedbackKeys: row.outline.feedback_keys,
    isResumable: row.outline.resumable ?? false,
    cancel: row.cancel ?? undefined,
    watchers: row.watchers,
    isStreamed: isStreamed(row),
  };
}

function isStreamed({ outline, streamed }: ClaimedRow): boolean {
  return streamed || outline.streamed === true || outline.resumable === true;
}

/** The end of a run that ended its process as often as it may. */
export function serverLost(attempts: number): { readonly error: string; readonly message: string } {
  return {
    error: 'ServerLost',
    message: `The run failed: its server was lost ${attempts} times; look for what ends the process`,
  };
}

/** The end that was asked of a run at work. */
export interface AskedEnd {
  readonly action: CancelAction;
  readonly why: string | undefined;
}

export interface AskedEndRow {
  readonly cancel: CancelAction | null;
  readonly cancel_reason: string | null;
}

/** Undefined when none was asked. */
export function askedEnd({ cancel, cancel_reason: why }: AskedEndRow): AskedEnd | undefined {
  return cancel === null ? undefined : { action: cancel, why: why ?? undefined };
}

/** One of the servers that share the database, as rows and claims know it. */
export interface ServerIdentity {
  readonly serverId: string;
  /** Milliseconds without a heartbeat after which another server takes a run over. */
  readonly leaseMs: number;
  /** Times that a run may be taken over before it counts as failed. */
  readonly maxTakeovers: number;
  /** Graphs of this revision: during a rollout the runs of others are left to their servers. */
  readonly graphIds: readonly string[];
}
