/**
 * What a terminal obeys instead of showing it (colours, titles, its clipboard, the text above), and what turns the order
 * of text around. Line ends and tabs stay.
 */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text of others, such as the last words of an agent in a status, as it may be shown: `\u001b` for ESC. */
export function visibleText(text: string): string {
  return text.replace(OBEYED, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
