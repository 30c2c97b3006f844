import type { ClaimedRun } from './claimed-run.js';

/** A run at work, by how long all its attempts have worked: by the clock of their servers that nothing sets. */
export interface WorkedRun extends Pick<ClaimedRun, 'runId' | 'attempt'> {
  readonly workedMs: number;
}
