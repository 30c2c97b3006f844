import { RunInput } from './run-input.js';
import { OUTLINE, type RunOutline } from './run-outline.js';
import type { CancelAction } from './run-row.js';
import type { StoredRun } from './stored-run.js';

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
    isResumable: row.outline.resumable ?? false,
    cancel: row.cancel ?? undefined,
    watchers: row.watchers,
    isStreamed: isStreamed(row),
  };
}

function isStreamed({ outline, streamed }: ClaimedRow): boolean {
  return streamed || outline.streamed === true || outline.resumable === true;
}
