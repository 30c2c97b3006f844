const BACKSLASH = 0x5c;
const ESCAPE = Buffer.from('\\u');
const ESCAPE_BYTES = 6;
const REPLACEMENT = 'fffd';

/** The number in an escape `\\uXXXX` at `at`; -1 when there is none. */
function escapeAt(json: Buffer, at: number): number {
  if (json[at] !== BACKSLASH || json[at + 1] !== ESCAPE[1]) return -1;
  return parseInt(json.toString('latin1', at + 2, at + ESCAPE_BYTES), 16);
}

/** Whether the backslash at `at` begins an escape instead of ending one. */
function beginsEscape(json: Buffer, at: number): boolean {
  let before = at;
  while (json[before - 1] === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}

/**
 * Turns escaped halves of surrogate pairs that stand alone into U+FFFD, in place: the length stays. They come from
 * texts that were cut in the middle of a character. JSON's grammar allows them and strict readers do not: one of them
 * would make a whole exported file unreadable.
 * @param json valid JSON
 */
export function repairSurrogates(json: Buffer): void {
  for (let at = json.indexOf(ESCAPE); at >= 0; at = json.indexOf(ESCAPE, at)) {
    const code = beginsEscape(json, at) ? escapeAt(json, at) : 0;
    const isHigh = code >= 0xd800 && code < 0xdc00;
    const isLow = code >= 0xdc00 && code < 0xe000;
    const next = isHigh ? escapeAt(json, at + ESCAPE_BYTES) : -1;
    if (next >= 0xdc00 && next < 0xe000) at += ESCAPE_BYTES;
    else if (isHigh || isLow) json.write(REPLACEMENT, at + 2, 'latin1');
    at += 2;
  }
}
