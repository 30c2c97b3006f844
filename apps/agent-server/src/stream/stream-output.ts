import { isJsonObject } from '#lib/json';
import type { SecretWords } from '../wire/secret-words.js';
import type { LibraryChunk, LibrarySource, Render, RunEvent, RunOutput } from './run-event.js';
import { definitionsOf, libraryModesOf, type StreamMode } from './stream-modes.js';

/** The newest state of the outermost graph, and its interrupts. */
export class LastState {
  #values: unknown;
  #interrupts: unknown[] | undefined;

  get values(): unknown {
    return this.#values;
  }

  get interrupts(): readonly unknown[] | undefined {
    return this.#interrupts;
  }

  /** Notes a state as the graph streams it: an interrupt is part of it, or replaces it. */
  note(values: unknown): void {
    if (!isJsonObject(values) || !Array.isArray(values['__interrupt__'])) {
      this.#values = values;
      return;
    }
    const { __interrupt__: interrupts, ...rest } = values;
    this.#interrupts = [...(this.#interrupts ?? []), ...(Array.isArray(interrupts) ? interrupts : [])];
    if (Object.keys(rest).length > 0) this.#values = rest;
  }

  /** The graph was seen to have stopped, which its values do not show. */
  interrupted(interrupts: readonly unknown[]): void {
    if (interrupts.length > 0) this.#interrupts = [...interrupts];
  }

  /** The graph had stopped in this state before. */
  stopped(values: unknown): void {
    this.#values = values;
    this.#interrupts = [];
  }
}

/** One way in which payloads of a source are shown. */
interface Outlet {
  readonly render: Render;
  readonly needsEverything: boolean;
  readonly mayCarryErrors: boolean;
}

function outletsOf(modes: readonly StreamMode[]): ReadonlyMap<string, readonly Outlet[]> {
  const outlets = new Map<string, Outlet[]>();
  for (const { renderers, needsEverything, mayCarryErrors } of definitionsOf(modes))
    for (const [source, render] of Object.entries(renderers())) {
      const others = outlets.get(source) ?? [];
      outlets.set(source, [...others, { render, needsEverything, mayCarryErrors }]);
    }
  return outlets;
}

/**
 * A chunk of `stream` with a list of modes: `[mode, payload]`, or `[namespace, mode, payload]`. Releases before 0.2.20 give
 * the payload alone where the list has one mode.
 */
function parseChunk(
  chunk: unknown,
  [only, ...others]: readonly LibrarySource[],
): (LibraryChunk & { readonly source: unknown }) | undefined {
  if (others.length === 0 && !(Array.isArray(chunk) && chunk.includes(only)))
    return { source: only, payload: chunk, namespace: [] };
  if (!Array.isArray(chunk)) return undefined;
  const parts: unknown[] = chunk;
  if (parts.length !== 3) return { source: parts[0], payload: parts[1], namespace: [] };
  const namespace = Array.isArray(parts[0]) ? parts[0].map(String) : [];
  return { source: parts[1], payload: parts[2], namespace };
}

/** Turns the stream of a graph into events of the wire, as far as they were requested. */
export class StreamOutput implements RunOutput {
  readonly #outlets: ReadonlyMap<string, readonly Outlet[]>;
  readonly #sources: readonly LibrarySource[];
  readonly #state = new LastState();

  constructor(
    modes: readonly StreamMode[],
    /** Called for each event that is wanted. */
    private readonly emit: (event: RunEvent) => void,
    /** Returns true while the run has readers: unread output need not become text. */
    private readonly isWanted: () => boolean,
    private readonly secrets: SecretWords,
  ) {
    this.#outlets = outletsOf(modes);
    this.#sources = libraryModesOf(modes);
  }

  get lastValues(): unknown {
    return this.#state.values;
  }

  get interrupts(): readonly unknown[] | undefined {
    return this.#state.interrupts;
  }

  /** One chunk of `stream`. */
  chunk(given: unknown): void {
    const chunk = parseChunk(given, this.#sources);
    if (!chunk || typeof chunk.source !== 'string') return;
    if (chunk.source === 'values' && chunk.namespace.length === 0) this.#state.note(chunk.payload);
    this.#show(chunk.source, chunk);
  }

  /** One event of `streamEvents`. */
  libraryEvent(event: unknown): void {
    const source: LibrarySource = 'events';
    this.#show(source, { payload: event, namespace: [] });
  }

  interrupted(interrupts: readonly unknown[]): void {
    this.#state.interrupted(interrupts);
  }

  stopped(values: unknown): void {
    this.#state.stopped(values);
  }

  finished(): void {
    // the answer ends with the run
  }

  /** A source without an outlet was streamed for the result only (`values`). */
  #show(source: string, chunk: LibraryChunk): void {
    for (const { render, needsEverything, mayCarryErrors } of this.#outlets.get(source) ?? []) {
      if (!needsEverything && !this.isWanted()) continue;
      for (const { event, data } of render(chunk))
        this.emit({ event, data: mayCarryErrors ? this.secrets.hide(data) : data });
    }
  }
}
