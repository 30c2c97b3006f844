/**
 * Logs of pods as one stream of lines: merged by time over pods and containers, read on where they were when a connection
 * breaks, and what is kept of a revision that failed. For the REST interface and the command line.
 */
export { type PodChoice, podFinder, containersOf, logSources, type LogSource } from './log-source.js';
export { followLogs, type FollowOptions, LastLines, SeenLines } from './follow-logs.js';
export { keptLines, keptNames } from './kept-output.js';
export { byTime, lineTime, type LogLine } from './log-line.js';
export { containerStatuses, endsOf, podOutput } from './pod-output.js';
export { readableLine } from './readable-line.js';
export { readLogs, type ReadOptions } from './read-logs.js';
