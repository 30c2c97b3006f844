/** An event of a stream, without its number. */
export interface SeenEvent {
  readonly event: string;
  readonly data: unknown;
}

/** What a server answered to one step of a scenario. */
export interface Observation {
  readonly step: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly events?: readonly SeenEvent[];
}

/** Everything that a server answered in one scenario. */
export interface Transcript {
  readonly scenario: string;
  readonly observations: readonly Observation[];
}
