import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { ContainerState } from '#lib/resources';

/** Maximum size that Kubernetes keeps. */
const MAX_FILE_BYTES = 4_096;
const MAX_LOG_BYTES = 2_048;
/**
 * Flags for files that a process wrote: it may have put a link to a file of others there, or a pipe that
 * would block the node.
 */
const WITHOUT_TRICKS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Reads the termination message file of a container; empty when there is none. */
export function readTerminationMessage(file: string): string {
  return readEnd(file, MAX_FILE_BYTES, 'start');
}

/** The last lines of a log file, for `terminationMessagePolicy: FallbackToLogsOnError`. */
export function readLogEnd(file: string): string {
  const text = readEnd(file, MAX_LOG_BYTES * 2, 'end');
  // the first line of what was cut off is a part of one
  const isCut = Buffer.byteLength(text) >= MAX_LOG_BYTES * 2;
  const lines = text.split('\n').slice(isCut ? 1 : 0);
  // time, stream and tag precede each line
  return lines
    .map((line) => line.replace(/^\S+ \S+ \S /, ''))
    .join('\n')
    .trim()
    .slice(-MAX_LOG_BYTES);
}

function readEnd(file: string, maxBytes: number, from: 'start' | 'end'): string {
  let handle: number;
  try {
    handle = openSync(file, WITHOUT_TRICKS);
  } catch {
    return '';
  }
  try {
    const found = fstatSync(handle);
    if (!found.isFile()) return '';
    const { size } = found;
    const buffer = Buffer.alloc(Math.min(size, maxBytes));
    readSync(handle, buffer, 0, buffer.length, from === 'start' ? 0 : size - buffer.length);
    return buffer.toString('utf8');
  } finally {
    closeSync(handle);
  }
}

/** Result of an attempt at running a container. */
export type Termination = NonNullable<ContainerState['terminated']>;

/** State of a container. `waiting` after the first attempt carries the result of the last one. */
export type ContainerPhase =
  | { readonly kind: 'waiting'; readonly reason: string; readonly message?: string }
  | { readonly kind: 'running'; readonly startedAt: Date }
  | { readonly kind: 'terminated'; readonly result: Termination };

/** Everything that a pod's status says of one container. */
export interface ContainerView {
  readonly name: string;
  readonly image: string;
  readonly containerId: string | undefined;
  readonly phase: ContainerPhase;
  readonly last: Termination | undefined;
  readonly restartCount: number;
  /** True when the startup probe has passed, or there is none. */
  readonly isStarted: boolean;
  readonly isReady: boolean;
}
