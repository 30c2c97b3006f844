/** Output of a run, as its execution uses it. */
export interface RunOutput {
  /** The newest full state of the outermost graph. */
  readonly lastValues: unknown;
  /** Reasons for which the graph stopped; undefined when it ran to its end. */
  readonly interrupts: readonly unknown[] | undefined;
  /** The graph stopped for these, if there are any, and its values do not show them. */
  interrupted(interrupts: readonly unknown[]): void;
  /** The graph is not called at all: it had stopped in this state already. */
  stopped(values: unknown): void;
  /** The graph has ended without an error. */
  finished(): void;
}

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
