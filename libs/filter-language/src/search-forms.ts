/** Lower case by single characters as Postgres has it; JavaScript's depends on the place of a sigma, and makes two of İ. */
export function foldCase(text: string): string {
  return text.replaceAll('Σ', 'σ').replaceAll('İ', 'i').toLowerCase();
}

/** A text or a pattern to find in JSON text whose letters are lower case. */
export type JsonSearch =
  | { readonly kind: 'text'; readonly text: string }
  /** A regular expression that Postgres and JavaScript read alike. */
  | { readonly kind: 'pattern'; readonly pattern: string };

/** Characters that clients write in several ways: Python everything beyond ASCII, Go `<>&`, PHP `/`, .NET and Gson the others. */
const SEVERAL_WAYS = /["\\<>&'+=`/\u0000-\u001f\u007f-\uffff]/;
const SPECIAL = /[.*+?^${}()|[\]\\]/g;

const literal = (text: string): string => text.replace(SPECIAL, '\\$&');

/** The escape of each UTF-16 unit, as it stands in JSON text of lower case. */
function escapeOf(character: string): string {
  return Array.from(
    { length: character.length },
    (_unit, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** All ways to write a character of lower case, as alternatives of a regular expression. */
function waysOf(character: string): string {
  if (!SEVERAL_WAYS.test(character)) return literal(character);
  const upper = character.toUpperCase();
  const short = JSON.stringify(character).slice(1, -1);
  const ways = [short, escapeOf(character)];
  if (character === '/') ways.push('\\/');
  // an escape has the case of the letter that was sent
  if (upper !== character && foldCase(upper) === character) ways.push(escapeOf(upper));
  return `(?:${[...new Set(ways)].map(literal).join('|')})`;
}

/** Finds a text in JSON text, ignoring case and the escapes that its sender chose. */
export function jsonSearch(text: string): JsonSearch {
  const folded = foldCase(text);
  if (!SEVERAL_WAYS.test(folded)) return { kind: 'text', text: folded };
  return { kind: 'pattern', pattern: [...folded].map(waysOf).join('') };
}
