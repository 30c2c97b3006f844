import type { JsonObject } from '#lib/json';
import type { CancelAction } from './run-row.js';
import type { StoredRun } from './stored-run.js';

/** A run that this server holds the lease of. */
export interface ClaimedRun extends StoredRun {
  /** Counts from 1; every write of the run carries it and is refused once it is outdated. */
  readonly attempt: number;
  /** Milliseconds since its first attempt began, at the claim. */
  readonly ranMs: number;
  readonly cancel: CancelAction | undefined;
  /** Servers whose readers wait for this run's output. */
  readonly watchers: readonly string[];
  /** Its output is read, or is to be: every attempt records it. */
  readonly isStreamed: boolean;
}

export interface ClaimedRow {
  readonly run_id: string;
  readonly thread_id: string;
  readonly temporary: boolean;
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly attempt: number;
  readonly ran_ms: number;
  readonly metadata: JsonObject;
  readonly kwargs: StoredRun['kwargs'];
  readonly cancel: CancelAction | null;
  readonly watchers: readonly string[];
  readonly streamed: boolean;
}

/**
 * What a claiming statement returns of a run `r`. It has worked for no less than nothing: where the database's clock was
 * set back since its start, the run would get its time and the step.
 */
export const CLAIMED_COLUMNS = `r.run_id, r.thread_id, r.temporary, r.assistant_id, r.graph_id, r.attempt, r.metadata,
  r.kwargs, r.cancel, r.watchers, r.streamed,
  greatest(0, extract(epoch FROM clock_timestamp() - coalesce(r.started_at, clock_timestamp())) * 1000)::float8 AS ran_ms`;

export function claimedRun(row: ClaimedRow): ClaimedRun {
  return {
    runId: row.run_id,
    threadId: row.thread_id,
    isTemporary: row.temporary,
    assistantId: row.assistant_id,
    graphId: row.graph_id,
    attempt: row.attempt,
    ranMs: row.ran_ms,
    metadata: row.metadata,
    kwargs: row.kwargs,
    cancel: row.cancel ?? undefined,
    watchers: row.watchers,
    isStreamed: isStreamed(row),
  };
}

function isStreamed({ kwargs, streamed }: ClaimedRow): boolean {
  return streamed || kwargs.streamed === true || kwargs.resumable === true;
}
