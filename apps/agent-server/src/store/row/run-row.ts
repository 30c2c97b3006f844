import { isJsonObject, type JsonObject } from '#lib/json';
import { withWireTimes } from './wire-time.js';

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

/** What ended a run that failed. */
export interface RunError {
  readonly error: string;
  readonly message: string;
}

/** A run as it stands in its row. */
export interface RunRecord {
  readonly wire: WireRun;
  readonly isTemporary: boolean;
  readonly attempt: number;
  readonly error: RunError | undefined;
}

export interface RunRow extends Omit<WireRun, 'created_at' | 'updated_at'> {
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly temporary: boolean;
  readonly attempt: number;
  readonly error: RunError | null;
}

/** Columns of a run `r`. */
export const RUN_COLUMNS = `r.run_id, r.thread_id, r.assistant_id, r.created_at, r.updated_at, r.status, r.metadata,
  r.kwargs, r.multitask_strategy, r.temporary, r.attempt, r.error`;

export const ENDED_STATUSES: readonly RunStatus[] = ['success', 'error', 'timeout', 'interrupted'];

/**
 * What readers of a run see of how it was asked for. The caller is left out: its headers and the fields of its user may be
 * tokens, and others may read the thread.
 */
export function shownKwargs(kwargs: unknown): JsonObject {
  const { caller: _caller, ...shown } = isJsonObject(kwargs) ? kwargs : {};
  return shown;
}

export function runRecord(row: RunRow): RunRecord {
  const { temporary, attempt, error, ...run } = row;
  return {
    wire: { ...withWireTimes(run), kwargs: shownKwargs(run.kwargs) },
    isTemporary: temporary,
    attempt,
    error: error ?? undefined,
  };
}
