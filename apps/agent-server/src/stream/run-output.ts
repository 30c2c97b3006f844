/** What an execution learns from its output. */
export interface RunOutput {
  /** The newest full state of the outermost graph. */
  readonly lastValues: unknown;
  /** What the graph stopped for; undefined when it went on to its end. */
  readonly interrupts: readonly unknown[] | undefined;
  /** The graph is not called at all: it had stopped in this state already. */
  stopped(values: unknown): void;
  /** Nothing more comes from the graph, which did not fail. */
  finished(): void;
}
