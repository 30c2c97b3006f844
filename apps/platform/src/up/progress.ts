/** Says what is being waited for. On a terminal one line that is written over, otherwise nothing: the log has it. */
export class Progress {
  readonly #out: NodeJS.WriteStream;
  #width = 0;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  /**
   *
   * @param onNewLine leaves the present text of the line
   */
  say(text: string, onNewLine = false): void {
    if (!this.#out.isTTY) return;
    const line = `  ${text} …`;
    this.#out.write(`${onNewLine ? '\n' : '\r'}${line.padEnd(this.#width)}`);
    this.#width = line.length;
  }

  done(): void {
    if (this.#out.isTTY && this.#width > 0) this.#out.write(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }
}
