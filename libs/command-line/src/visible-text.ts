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
