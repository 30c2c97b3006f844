import type { ClaimedRun } from './claimed-run.js';

/**
 * A run in progress, with the time that all its attempts have worked: by the monotonic clock of their
 * servers.
 */
export interface WorkedRun extends Pick<ClaimedRun, 'runId' | 'attempt'> {
  readonly workedMs: number;
}
