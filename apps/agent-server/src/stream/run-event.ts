/** One event of a run's output, ready for the wire. */
export interface RunEvent {
  /** Place among the run's events as this process saw them, from 0; given by the feed. */
  readonly id?: number;
  /** It has several readers; given by the feed. */
  readonly isShared?: boolean;
  /** `mode`, or `mode|namespace…` for what came from a subgraph. */
  readonly event: string;
  /** JSON text in one line. */
  readonly data: string;
}
