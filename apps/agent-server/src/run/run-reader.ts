import type { RunResult } from '../log/event-log.js';
import type { LoggedEvent } from '../log/logged-event.js';
import type { RunEvent } from '../stream/run-event.js';

/** A way through the output of a run that its reader takes at its own pace. */
export interface Reading {
  /** The next event; without one, `state` says why. */
  take(): LoggedEvent | undefined;
  /** `lost`: the next output for this reader is no longer kept. */
  readonly state: 'waiting' | 'ended' | 'lost';
  /** True when the run has ended: the remaining events are here. */
  readonly hasEnd: boolean;
  close(): void;
}

/** Event that a reader gets in place of output that is no longer kept. */
export const OUTPUT_LOST: RunEvent = {
  event: 'error',
  data: JSON.stringify({
    error: 'OutputLost',
    message:
      'What comes next in this output is no longer kept; read the state of the thread, or join again from now on',
  }),
};

/** Reads the output of a run. */
export interface OutputReader {
  readonly kind: 'output';
  attach(reading: Reading): void;
  /** Called when there may be more to take. */
  more(): void;
}

/** Waits for the end of a run. */
export interface ResultReader {
  readonly kind: 'result';
  ended(result: RunResult): void;
}

export type RunReader = OutputReader | ResultReader;
