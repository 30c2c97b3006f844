import type { RunEvent } from './run-event.js';

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
