import { isJsonObject } from '#lib/json';

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

  /** The graph had stopped in this state before. */
  stopped(values: unknown): void {
    this.#values = values;
    this.#interrupts = [];
  }
}
