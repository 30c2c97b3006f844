/**
 * Input of an attempt beside its claim: JSON text with metadata and kwargs. It is kept until it is handed on,
 * and not for as long as the run is in progress.
 */
export class RunInput {
  #text: string | undefined;

  /** @param text undefined: it is large, and read when the attempt begins */
  constructor(text?: string) {
    this.#text = text;
  }

  /** The text, once. */
  take(): string | undefined {
    const text = this.#text;
    this.#text = undefined;
    return text;
  }
}
