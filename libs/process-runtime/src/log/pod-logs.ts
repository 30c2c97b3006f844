import type { LogFile } from './log-file.js';

/** Location of the logs of one container. */
export interface ContainerLog {
  readonly folder: string;
  /** Number of the newest attempt that has started, or of the first when none has. */
  readonly newestAttempt: number;
  /**
   * Reason why the container has no running attempt; undefined while it runs and after it has ended for good.
   */
  readonly waitingReason: string | undefined;
  /** The log that is being written. */
  readonly live: LogFile | undefined;
}

/** Finds logs of the pods on this node. */
export interface PodLogs {
  find(namespace: string, pod: string, container: string): ContainerLog | undefined;
}
