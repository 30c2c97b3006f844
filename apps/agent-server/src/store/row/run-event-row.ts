import type { Position } from '../../log/position.js';

/** An event on its way to readers at another server. */
export interface RelayedEvent {
  readonly runId: string;
  /** Position of the event; refused once the run has begun a newer attempt. */
  readonly position: Position;
  /** `mode|namespace…` as on the wire, or `END` with the result as data. */
  readonly event: string;
  /** JSON text. */
  readonly data: string;
  /** Sent for a reader that asked for missed events: not new for others. */
  readonly isRepeated: boolean;
}

export type StoredEvent = Omit<RelayedEvent, 'isRepeated'>;

/** Position of a reader in a run's events; undefined: it takes the next one there is. */
export interface Cursor {
  readonly runId: string;
  readonly after: Position | undefined;
}

/** Name of the event that carries the result of a run. */
export const END = '__end__';
