import { displayWidth } from '../render/display-width.js';

const ESCAPE =
  /\u001b(?:\[([?<>=]?)([\d;:]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[78=>]|[()][A-Z0-9])/y;
const SEGMENTS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * What a terminal shows after the bytes of a program: cursor movements, erasing, wrapping and scrolling as xterm has
 * them; colours and modes are read over. Wide characters take two cells.
 */
export class TerminalScreen {
  readonly #columns: number;
  readonly #lines: number;
  #cells: string[][] = [];
  #row = 0;
  #column = 0;
  #rest = '';

  constructor(columns: number, lines: number) {
    this.#columns = columns;
    this.#lines = lines;
    this.#erase();
  }

  write(output: string): void {
    const text = this.#rest + output;
    this.#rest = '';
    for (let at = 0; at < text.length;) {
      if (text[at] !== '\u001b') {
        const end = text.indexOf('\u001b', at);
        this.#print(text.slice(at, end === -1 ? text.length : end));
        at = end === -1 ? text.length : end;
        continue;
      }
      ESCAPE.lastIndex = at;
      const [whole, mode = '', numbers = '', final] = ESCAPE.exec(text) ?? [];
      if (whole === undefined) {
        // the rest of it has not come yet
        this.#rest = text.slice(at);
        return;
      }
      if (final !== undefined) this.#obey(mode, numbers, final);
      at += whole.length;
    }
  }

  /** Lines without blanks at their ends. */
  text(): string {
    return this.#cells
      .map((line) => line.join('').trimEnd())
      .join('\n')
      .trimEnd();
  }

  #print(text: string): void {
    for (const { segment } of SEGMENTS.segment(text)) {
      if (segment === '\r') this.#column = 0;
      else if (segment === '\n') this.#feed();
      else if (segment === '\r\n') {
        this.#column = 0;
        this.#feed();
      } else if (segment === '\b') this.#column = Math.max(0, this.#column - 1);
      else if (segment >= ' ') this.#put(segment);
    }
  }

  #put(character: string): void {
    const width = Math.max(1, displayWidth(character));
    if (this.#column + width > this.#columns) {
      this.#column = 0;
      this.#feed();
    }
    const line = this.#cells[this.#row] ?? [];
    line[this.#column] = character;
    if (width === 2) line[this.#column + 1] = '';
    this.#column += width;
  }

  #feed(): void {
    this.#row++;
    if (this.#row < this.#lines) return;
    this.#row = this.#lines - 1;
    this.#cells.shift();
    this.#cells.push(this.#blank());
  }

  #blank(): string[] {
    return Array.from({ length: this.#columns }, () => ' ');
  }

  #erase(): void {
    this.#cells = Array.from({ length: this.#lines }, () => this.#blank());
  }

  #obey(mode: string, numbers: string, final: string): void {
    const [first = 0, second = 0] = numbers.split(';').map(Number);
    const step = Math.max(1, first);
    if (mode === '?') {
      if (numbers === '1049' && final === 'h') this.#erase();
      return;
    }
    const line = this.#cells[this.#row] ?? [];
    if (final === 'A') this.#row = Math.max(0, this.#row - step);
    else if (final === 'B') this.#row = Math.min(this.#lines - 1, this.#row + step);
    else if (final === 'C') this.#column = Math.min(this.#columns - 1, this.#column + step);
    else if (final === 'D') this.#column = Math.max(0, this.#column - step);
    else if (final === 'E') [this.#row, this.#column] = [Math.min(this.#lines - 1, this.#row + step), 0];
    else if (final === 'F') [this.#row, this.#column] = [Math.max(0, this.#row - step), 0];
    else if (final === 'G') this.#column = step - 1;
    else if (final === 'H') [this.#row, this.#column] = [step - 1, Math.max(1, second) - 1];
    else if (final === 'K')
      line.fill(' ', first === 0 ? this.#column : 0, first === 1 ? this.#column + 1 : undefined);
    else if (final === 'J') {
      if (first === 0) {
        line.fill(' ', this.#column);
        for (let at = this.#row + 1; at < this.#lines; at++) this.#cells[at] = this.#blank();
      } else if (first >= 2) this.#erase();
    }
  }
}
