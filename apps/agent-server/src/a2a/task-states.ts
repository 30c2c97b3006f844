import type { RunStatus } from '../store/row/run-row.js';
import type { TaskState } from './task.js';

/** Task state by the status of a run; a finished one that waits for input is `input-required`. */
const OF_STATUS: Readonly<Record<RunStatus, TaskState>> = {
  pending: 'submitted',
  running: 'working',
  success: 'completed',
  error: 'failed',
  timeout: 'failed',
  interrupted: 'canceled',
};

/** States of the protocol, including those that no task here ever has. */
const STATES: readonly string[] = [
  'submitted',
  'working',
  'input-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'auth-required',
];

export function isTaskState(name: string): boolean {
  return STATES.includes(name);
}

/** Progress of the newest run of a task. */
export interface RunStanding {
  readonly status: RunStatus;
  /** It stopped to ask for input. */
  readonly isWaiting: boolean;
  /** No other run came to its thread after it. */
  readonly isNewest: boolean;
}

/**
 * A task that asked for input, and whose thread continued without an answer, is canceled: its question is
 * gone.
 */
export function stateOfRun({ status, isWaiting, isNewest }: RunStanding): TaskState {
  if (status !== 'success' || !isWaiting) return OF_STATUS[status];
  return isNewest ? 'input-required' : 'canceled';
}
