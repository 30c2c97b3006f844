/** An event on its way to readers at another server. */
export interface RelayedEvent {
  readonly runId: string;
  /** Of the run that speaks; refused once a newer one has begun. */
  readonly attempt: number;
  /** `mode|namespace…` as on the wire, or `END` with the result as data. */
  readonly event: string;
  /** JSON text. */
  readonly data: string;
}

export interface StoredEvent extends Omit<RelayedEvent, 'attempt'> {
  readonly ordinal: bigint;
}

/** How far a reader has come in a run's events. */
export interface Cursor {
  readonly runId: string;
  readonly after: bigint;
}

/** Name of the event that carries the result of a run. */
export const END = '__end__';
