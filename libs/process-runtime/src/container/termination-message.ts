import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** As much as Kubernetes keeps. */
const MAX_FILE_BYTES = 4_096;
const MAX_LOG_BYTES = 2_048;

/** What a container left in its termination message file; empty when there is nothing. */
export function readTerminationMessage(file: string): string {
  return readEnd(file, MAX_FILE_BYTES, 'start');
}

/** The last lines of a log file, for `terminationMessagePolicy: FallbackToLogsOnError`. */
export function readLogEnd(file: string): string {
  const lines = readEnd(file, MAX_LOG_BYTES * 2, 'end')
    .split('\n')
    .slice(1);
  // time, stream and tag stand before each line
  return lines
    .map((line) => line.replace(/^\S+ \S+ \S /, ''))
    .join('\n')
    .trim()
    .slice(-MAX_LOG_BYTES);
}

function readEnd(file: string, maxBytes: number, from: 'start' | 'end'): string {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(handle);
    const buffer = Buffer.alloc(Math.min(size, maxBytes));
    readSync(handle, buffer, 0, buffer.length, from === 'start' ? 0 : size - buffer.length);
    return buffer.toString('utf8');
  } finally {
    closeSync(handle);
  }
}
