/** Output of a run, as its execution uses it. */
export interface RunOutput {
  /** The newest full state of the outermost graph. */
  readonly lastValues: unknown;
  /** Reasons for which the graph stopped; undefined when it ran to its end. */
  readonly interrupts: readonly unknown[] | undefined;
  /** The graph is not called at all: it had stopped in this state already. */
  stopped(values: unknown): void;
  /** The graph has ended without an error. */
  finished(): void;
}
