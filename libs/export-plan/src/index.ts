export { DEFAULT_EXPORT_LIMITS, type ExportLimits } from './limits.js';
export { decideNextAttempt, isExportOverdue, type AttemptEnd, type NextAttempt } from './next-attempt.js';
export {
  checkPrefix,
  manifestKey,
  partitionFolder,
  partKey,
  testObjectKey,
  type FormatVersion,
  type PartitionAddress,
} from './object-key.js';
export { countPartitions, partitionByDay, type Partition } from './partition.js';
export { parseLast, resolveWindow, type WantedWindow, type Window, type WindowDecision } from './window.js';
