const MAX_LINES = 20;
const MAX_CHARS = 2_000;

/** The last lines that a process wrote. */
export class LastLines {
  readonly #lines: string[] = [];

  add(line: string): void {
    this.#lines.push(line.slice(0, MAX_CHARS));
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  get text(): string {
    return this.#lines.join('\n').slice(-MAX_CHARS);
  }
}
