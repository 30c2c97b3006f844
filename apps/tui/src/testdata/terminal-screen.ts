import { displayWidth } from '../render/fit.js';

const ESCAPE =
  /\u001b(?:\[([?<>=]?)([\d;:]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[78=>]|[()][A-Z0-9])/y;
const SEGMENTS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** A piece of a line in one style. */
export interface StyledText {
  readonly text: string;
  /** The numbers of SGR that hold, in their order, such as `1;36`; empty for none. */
  readonly style: string;
}

interface Cell {
  readonly character: string;
  readonly style: string;
}

const BLANK: Cell = { character: ' ', style: '' };

/** Which numbers of SGR each number ends: colours replace colours, 22 ends 1 and 2. */
const ENDS: readonly (readonly [RegExp, RegExp])[] = [
  [/^(3\d|39|9\d)$/, /^(3\d|9\d)$/],
  [/^(4\d|49|10\d)$/, /^(4\d|10\d)$/],
  [/^22$/, /^[12]$/],
  [/^2[3-9]$/, /^[3-9]$/],
];

/** The style after further numbers of SGR. Colours of more than 16 are read over. */
function styleAfter(style: string, numbers: string): string {
  let kept = style === '' ? [] : style.split(';');
  for (const number of numbers === '' ? ['0'] : numbers.split(';')) {
    if (number === '0') kept = [];
    else {
      const ended = ENDS.filter(([begins]) => begins.test(number)).map(([, ends]) => ends);
      kept = kept.filter((one) => one !== number && !ended.some((ends) => ends.test(one)));
      if (!/^(2[2-9]|39|49)$/.test(number)) kept.push(number);
    }
  }
  return kept.join(';');
}

/**
 * What a terminal shows after the bytes of a program: cursor movements, erasing, wrapping, scrolling and styles as xterm
 * has them, with the other screen that programs of a whole screen use. Wide characters take two cells.
 */
export class TerminalScreen {
  readonly #columns: number;
  readonly #lines: number;
  #cells: Cell[][] = [];
  #style = '';
  /** What the first screen shows while the other one is used. */
  #former: { cells: Cell[][]; row: number; column: number } | undefined;
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
      .map((line) =>
        line
          .map(({ character }) => character)
          .join('')
          .trimEnd(),
      )
      .join('\n')
      .trimEnd();
  }

  /** Lines in pieces of one style. */
  styledLines(): readonly (readonly StyledText[])[] {
    return this.#cells.map((line) => {
      const pieces: { text: string; style: string }[] = [];
      for (const { character, style } of line) {
        const last = pieces.at(-1);
        if (last?.style === style) last.text += character;
        else pieces.push({ text: character, style });
      }
      return pieces;
    });
  }

  /** Where the next character would be. */
  get cursor(): { readonly row: number; readonly column: number } {
    return { row: this.#row, column: this.#column };
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
    line[this.#column] = { character, style: this.#style };
    if (width === 2) line[this.#column + 1] = { character: '', style: this.#style };
    this.#column += width;
  }

  #feed(): void {
    this.#row++;
    if (this.#row < this.#lines) return;
    this.#row = this.#lines - 1;
    this.#cells.shift();
    this.#cells.push(this.#blank());
  }

  #blank(): Cell[] {
    return Array.from({ length: this.#columns }, () => BLANK);
  }

  #erase(): void {
    this.#cells = Array.from({ length: this.#lines }, () => this.#blank());
  }

  #switch(isOther: boolean): void {
    if (isOther) {
      this.#former = { cells: this.#cells, row: this.#row, column: this.#column };
      this.#erase();
    } else if (this.#former) {
      const { cells, row, column } = this.#former;
      [this.#cells, this.#row, this.#column] = [cells, row, column];
      this.#former = undefined;
    }
  }

  #obey(mode: string, numbers: string, final: string): void {
    const [first = 0, second = 0] = numbers.split(';').map(Number);
    const step = Math.max(1, first);
    if (mode === '?') {
      if (numbers === '1049') this.#switch(final === 'h');
      return;
    }
    const line = this.#cells[this.#row] ?? [];
    if (final === 'm') this.#style = styleAfter(this.#style, numbers);
    else if (final === 'A') this.#row = Math.max(0, this.#row - step);
    else if (final === 'B') this.#row = Math.min(this.#lines - 1, this.#row + step);
    else if (final === 'C') this.#column = Math.min(this.#columns - 1, this.#column + step);
    else if (final === 'D') this.#column = Math.max(0, this.#column - step);
    else if (final === 'E') [this.#row, this.#column] = [Math.min(this.#lines - 1, this.#row + step), 0];
    else if (final === 'F') [this.#row, this.#column] = [Math.max(0, this.#row - step), 0];
    else if (final === 'G') this.#column = step - 1;
    else if (final === 'H') [this.#row, this.#column] = [step - 1, Math.max(1, second) - 1];
    else if (final === 'K')
      line.fill(BLANK, first === 0 ? this.#column : 0, first === 1 ? this.#column + 1 : undefined);
    else if (final === 'J') {
      if (first === 0) {
        line.fill(BLANK, this.#column);
        for (let at = this.#row + 1; at < this.#lines; at++) this.#cells[at] = this.#blank();
      } else if (first >= 2) this.#erase();
    }
  }
}
