/**
 * Logs of pods as one stream of lines: merged by time over pods and containers, read on where they were when a connection
 * breaks, and what is kept of a revision that failed. For the REST interface and the command line.
 */
export { type PodChoice, podFinder } from './find-pods.js';
export { followLogs, type FollowOptions } from './follow-logs.js';
export { keptLines, keptNames } from './kept-output.js';
export { LastLines } from './last-lines.js';
export { byTime, lineTime, type LogLine } from './log-line.js';
export { containersOf, logSources, type LogSource } from './log-source.js';
export { containerStatuses, endsOf } from './container-statuses.js';
export { podOutput } from './pod-output.js';
export { readableLine } from './readable-line.js';
export { readLogs, type ReadOptions } from './read-logs.js';
export { SeenLines } from './seen-lines.js';
