import { visibleText } from '#lib/command-line';

/** Screen on which lines are drawn: the parts of a terminal that are used. */
interface Screen {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const UP = (lines: number): string => `\u001b[${lines}A`;
const CLEAR_BELOW = '\u001b[0J';

/** A few lines on a terminal that are drawn again at the same place. Each character must take one column. */
export class LiveLines {
  #shown = 0;

  constructor(private readonly screen: Screen) {}

  /** Lines that fit at most: what has scrolled away cannot be drawn anew. */
  get most(): number {
    return Math.max(1, (this.screen.rows ?? 24) - 1);
  }

  show(lines: readonly string[]): void {
    // a line that wraps would be two
    const width = Math.max(1, (this.screen.columns ?? 80) - 1);
    const shown = lines.slice(0, this.most).map((line) => visibleText(line).slice(0, width));
    const begin = this.#shown === 0 ? '' : `${UP(this.#shown)}\r${CLEAR_BELOW}`;
    this.screen.write(`${begin}${shown.map((line) => `${line}\n`).join('')}`);
    this.#shown = shown.length;
  }
}
