import type { RunKwargs } from '../run/run-request.js';

export type RunStatus = 'pending' | 'running' | 'success' | 'error' | 'timeout' | 'interrupted';
export type CancelAction = 'interrupt' | 'rollback';

/** A run that this server holds the lease of. */
export interface ClaimedRun {
  readonly runId: string;
  readonly threadId: string;
  /** Without a thread of its own: nothing of it is kept. */
  readonly isTemporary: boolean;
  readonly assistantId: string;
  readonly graphId: string;
  /** Counts from 1; every write of the run carries it and is refused once it is outdated. */
  readonly attempt: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly kwargs: RunKwargs;
  readonly cancel: CancelAction | undefined;
  /** Servers whose readers wait for this run's output. */
  readonly watchers: readonly string[];
}

/** Thrown into a run whose lease another server holds by now: whatever it still does must not be kept. */
export class FencedError extends Error {
  constructor(runId: string, attempt: number) {
    super(`run ${runId}: attempt ${attempt} is no longer the current one`);
    this.name = 'FencedError';
  }
}

interface ClaimedColumns {
  run_id: string;
  thread_id: string;
  temporary: boolean;
  assistant_id: string;
  graph_id: string;
  attempt: number;
  metadata: Record<string, unknown>;
  kwargs: RunKwargs;
  cancel: CancelAction | null;
  watchers: string[];
}

/** What a claiming statement returns. */
export const CLAIMED_COLUMNS =
  'r.run_id, r.thread_id, r.temporary, r.assistant_id, r.graph_id, r.attempt, r.metadata, r.kwargs, r.cancel, r.watchers';

export function claimedRun(row: unknown): ClaimedRun {
  const columns = row as ClaimedColumns;
  return {
    runId: columns.run_id,
    threadId: columns.thread_id,
    isTemporary: columns.temporary,
    assistantId: columns.assistant_id,
    graphId: columns.graph_id,
    attempt: columns.attempt,
    metadata: columns.metadata,
    kwargs: columns.kwargs,
    cancel: columns.cancel ?? undefined,
    watchers: columns.watchers,
  };
}

/** A run as the wire shows it. */
export interface WireRun {
  readonly run_id: string;
  readonly thread_id: string;
  readonly assistant_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly status: RunStatus;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly kwargs: unknown;
  readonly multitask_strategy: string;
}
