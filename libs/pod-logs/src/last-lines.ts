import { type LogLine, sizeOfLine } from './log-line.js';

/** The last of many lines that come by time, as far as they fit. */
export class LastLines {
  #lines: LogLine[] = [];
  #bytes = 0;
  #first = 0;
  #isCut = false;

  constructor(
    private readonly maxLines: number,
    private readonly maxBytes = Infinity,
  ) {}

  add(lines: readonly LogLine[]): void {
    for (const line of lines) {
      this.#lines.push(line);
      this.#bytes += sizeOfLine(line);
    }
    while (this.#lines.length - this.#first > this.maxLines) this.#drop();
    while (this.#bytes > this.maxBytes && this.#lines.length - this.#first > 1) {
      this.#isCut = true;
      this.#drop();
    }
    if (this.#first < 1_024 || this.#first < this.#lines.length / 2) return;
    this.#lines = this.lines();
    this.#first = 0;
  }

  /** Oldest first. */
  lines(): LogLine[] {
    return this.#lines.slice(this.#first);
  }

  /** True when fewer are left than were asked for, since they are too long. */
  get isCut(): boolean {
    return this.#isCut && this.#lines.length - this.#first < this.maxLines;
  }

  #drop(): void {
    const line = this.#lines[this.#first++];
    if (line) this.#bytes -= sizeOfLine(line);
  }
}
