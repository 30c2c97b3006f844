/** One event of a run's output, ready for the wire. */
export interface RunEvent {
  /** `mode`, or `mode|namespace…` for output of a subgraph. */
  readonly event: string;
  /** JSON text in one line. */
  readonly data: string;
}

/** The same from a graph host: its data stays as it arrived. */
export interface EncodedEvent {
  readonly event: string;
  /** UTF-8; copy it to keep it. */
  readonly data: Buffer;
}
