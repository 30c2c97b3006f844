import { FilterError, shown } from '../filter-error.js';

const ESCAPED: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const HEX = /[0-9a-fA-F]{4}/y;

/** One escape, whose backslash is at `at`. */
function readEscape(source: string, at: number): { text: string; end: number } {
  const letter = source[at + 1] ?? '';
  const plain = Object.hasOwn(ESCAPED, letter) ? ESCAPED[letter] : undefined;
  if (plain !== undefined) return { text: plain, end: at + 2 };
  HEX.lastIndex = at + 2;
  const code = letter === 'u' ? HEX.exec(source)?.[0] : undefined;
  if (code === undefined)
    throw new FilterError(
      `unknown escape ${shown(source.slice(at, at + 2))} in a text; write \\\\ for a backslash, or one of \\" \\' \\/ \\b \\f \\n \\r \\t \\uXXXX`,
      at,
    );
  return { text: String.fromCharCode(Number.parseInt(code, 16)), end: at + 6 };
}

/**
 * Reads the text in quotes that begins at `from`: either quote, the escapes of JSON and `\'`. Characters that
 * Postgres cannot hold are refused here, once for all fields.
 * @throws FilterError also for U+0000 and halves of surrogate pairs
 */
export function readText(source: string, from: number): { readonly text: string; readonly end: number } {
  const quote = source[from];
  let text = '';
  let plainFrom = from + 1;
  let at = plainFrom;
  while (source[at] !== quote) {
    if (at >= source.length) throw new FilterError(`a text in quotes has no end; expected ${quote}`, from);
    if (source[at] !== '\\') {
      at++;
      continue;
    }
    const escape = readEscape(source, at);
    text += source.slice(plainFrom, at) + escape.text;
    at = plainFrom = escape.end;
  }
  text += source.slice(plainFrom, at);
  if (text.includes('\0'))
    throw new FilterError('a text holds U+0000, which no run can hold; remove it', from);
  if (!text.isWellFormed())
    throw new FilterError('a text holds half of a surrogate pair; write the whole character', from);
  return { text, end: at + 1 };
}
