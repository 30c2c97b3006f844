export { isOlder, isQueued, queuePositions } from './export-queue.js';
export { followingRun, type FollowingRun, specOfFollowing, takeForMs } from './following-run.js';
export { findContinuationProblem, type ContinuationProblem } from './continuation.js';
export { destinationUse, isDeletedByForce } from './destination-use.js';
export { findLateRunsProblem } from './late-runs.js';
export { DEFAULT_EXPORT_LIMITS, type ExportLimits, renderLimit } from './limits.js';
export { decideNextAttempt, isExportOverdue, overdueText, type AttemptEnd } from './next-attempt.js';
export {
  addressOfRun,
  checkPrefix,
  exportManifestKey,
  manifestKey,
  partitionFolder,
  partKey,
  tableFolder,
  testObjectKey,
  windowManifestKey,
  type FormatVersion,
  type FileAddress,
} from './object-key.js';
export { countPartitions, MAX_PARTITIONS, partitionByDay, type Partition } from './partition.js';
export { type ExportLinks, renderExport, updatedAt } from './render-export.js';
export { webhookState } from './render-webhook.js';
export type { RenderedExport, RenderedSchedule, RenderedWebhook, WebhookState } from './rendered-export.js';
export { openWindow, schedulePosition, type SchedulePlan, type SchedulePosition } from './schedule.js';
export { followingRunsOf, podsOfRun } from './run-pods.js';
export { resolveWindow, type Window } from './window.js';
