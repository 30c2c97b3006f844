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

/** Origin of a payload: a stream mode of the library, or `events` for an event of `streamEvents`. */
export type LibrarySource =
  'values' | 'updates' | 'messages' | 'custom' | 'debug' | 'tasks' | 'checkpoints' | 'tools' | 'events';

/** One payload as the library gave it. */
export interface LibraryChunk {
  readonly payload: unknown;
  /** Path of the subgraph that it came from; empty for the outermost graph. */
  readonly namespace: readonly string[];
}

/** Turns one payload into events of the wire, in order. */
export type Render = (chunk: LibraryChunk) => readonly RunEvent[];

/** `event`, with the namespace of a subgraph behind it. */
export function eventName(event: string, namespace: readonly string[]): string {
  return namespace.length === 0 ? event : `${event}|${namespace.join('|')}`;
}
