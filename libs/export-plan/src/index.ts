export {
  DEFAULT_EXPORT_LIMITS,
  type ExportLimits,
  isOlder,
  isQueued,
  queuePositions,
  renderLimit,
} from './limits.js';
export {
  exportUidOf,
  followingRun,
  type FollowingRun,
  followingRunsOf,
  podsOfRun,
  specOfFollowing,
  takeForMs,
} from './following-run.js';
export { type ContinuationProblem, findContinuationProblem, findLateRunsProblem } from './continuation.js';
export { destinationUse, isDeletedByForce } from './destination-use.js';
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
export {
  countPartitions,
  MAX_PARTITIONS,
  openWindow,
  type Partition,
  partitionByDay,
  resolveWindow,
  type SchedulePlan,
  schedulePosition,
  type SchedulePosition,
  type Window,
} from './window.js';
export {
  type ExportLinks,
  type RenderedExport,
  type RenderedSchedule,
  type RenderedWebhook,
  renderExport,
  updatedAt,
  webhookState,
  type WebhookState,
} from './render-export.js';
