/**
 * Characters that a terminal obeys instead of showing them (colours, titles, its clipboard, the text above),
 * and those that change the direction of text. Line ends and tabs stay.
 */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Colours, bold and the like, which end with the text: `ESC [ 1 ; 31 m`. */
const COLOURS = /(\u001b\[[0-9;]{0,30}m)/;

/** A line of a log as a terminal may have it: with its colours, and nothing else that a terminal obeys. */
export function visibleLine(line: string): string {
  const parts = line.split(COLOURS);
  // every second part is what was split at
  const text = parts.map((part, at) => (at % 2 === 1 ? part : visibleText(part))).join('');
  return parts.length > 1 ? `${text}\u001b[0m` : text;
}

/** Text of others, such as the last words of an agent in a status, as it may be shown: `\u001b` for ESC. */
export function visibleText(text: string): string {
  return text.replace(OBEYED, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const COUNT_UNITS = ['', 'k', 'M', 'G'];
const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

function scaled(value: number, units: readonly string[], gap: string): string {
  let at = 0;
  let rest = value;
  while (rest >= 999.5 && at < units.length - 1) {
    rest /= 1000;
    at++;
  }
  const digits = at === 0 || rest >= 99.95 ? 0 : 1;
  return `${rest.toFixed(digits)}${gap}${units[at]}`;
}

/** 12345 → `12.3k`. */
export function count(value: number): string {
  return scaled(value, COUNT_UNITS, '');
}

/** Decimal units: 12345678 → `12.3 MB`. */
export function bytes(value: number): string {
  return scaled(value, BYTE_UNITS, ' ');
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * A progress bar `width` columns wide, exact to an eighth of a column.
 * @param fraction 0 to 1; anything else is clipped
 */
export function bar(fraction: number, width: number): string {
  const clipped = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
  const eighths = Math.round(clipped * width * 8);
  const filled = '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
  return filled.padEnd(width, '░');
}

/** kubectl's columns are never narrower. */
const NARROWEST = 3;

/** Rows under their headings; columns are as wide as their longest cell. */
export function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows].map((row) => row.map(cellText));
  const widths = headings.map((_, at) => Math.max(NARROWEST, ...lines.map((row) => (row[at] ?? '').length)));
  return lines
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('   ')
        .trimEnd()
        .concat('\n'),
    )
    .join('');
}

/** Text in one line: a cell must not pass for another row. */
export function cellText(cell: string): string {
  const lines = visibleText(cell).split('\n');
  return lines.length === 1
    ? lines.join('')
    : lines
        .map((line) => line.trim())
        .filter((line) => line !== '')
        .join(' ');
}
