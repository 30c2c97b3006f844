/** One event of a run's output, ready for the wire. */
export interface RunEvent {
  /** `mode`, or `mode|namespace…` for what came from a subgraph. */
  readonly event: string;
  /** JSON text in one line. */
  readonly data: string;
}
