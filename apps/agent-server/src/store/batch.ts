/** One thing that waits for its place in the next statement. */
interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (output: O) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Turns many small calls into few statements: what comes in while a statement is under way goes out together in the
 * next. Alone, a call leaves at the end of the current turn of the event loop.
 *
 * @typeParam I one call's input, @typeParam O its answer
 */
export class Batch<I, O> {
  #waiting: Waiting<I, O>[] = [];
  #isBusy = false;

  constructor(
    /** One statement for all; answers one output for each item, in order. */
    private readonly perform: (items: readonly I[]) => Promise<readonly O[]>,
    private readonly maxItems = 200,
  ) {}

  add(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isBusy || this.#waiting.length === 0) return;
    this.#isBusy = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0, this.maxItems);
    try {
      const outputs = await this.perform(batch.map((waiting) => waiting.item));
      batch.forEach((waiting, index) => waiting.resolve(outputs[index] as O));
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    } finally {
      this.#isBusy = false;
      this.#schedule();
    }
  }
}
