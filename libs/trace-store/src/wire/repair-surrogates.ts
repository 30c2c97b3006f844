import { BACKSLASH, type JsonWalk } from '#lib/json';

const LETTER_U = 0x75;
/** Beginnings of escapes of U+D000 to U+DFFF. */
const STARTS = [Buffer.from('\\ud'), Buffer.from('\\uD')];
const ESCAPE_BYTES = 6;
/** Bytes between two pauses. */
const STRETCH = 64 * 1024;
const REPLACEMENT = 'fffd';

type Half = 'high' | 'low' | undefined;

/** Half that the escape at `at` represents, by its second digit; undefined for any other bytes there. */
export function halfAt(json: Buffer, at: number): Half {
  if (json[at] !== BACKSLASH || json[at + 1] !== LETTER_U || ((json[at + 2] ?? 0) | 0x20) !== 0x64)
    return undefined;
  const digit = (json[at + 3] ?? 0) | 0x20;
  if (digit === 0x38 || digit === 0x39 || digit === 0x61 || digit === 0x62) return 'high';
  return digit >= 0x63 && digit <= 0x66 ? 'low' : undefined;
}

/** True when the backslash at `at` begins an escape instead of ending one. */
function beginsEscape(json: Buffer, at: number): boolean {
  let before = at;
  while (json[before - 1] === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}

function isAlone(json: Buffer, at: number): boolean {
  const half = halfAt(json, at);
  if (half === undefined || !beginsEscape(json, at)) return false;
  if (half === 'high') return halfAt(json, at + ESCAPE_BYTES) !== 'low';
  const before = at - ESCAPE_BYTES;
  return halfAt(json, before) !== 'high' || !beginsEscape(json, before);
}

/**
 * Turns escaped halves of surrogate pairs that stand alone into U+FFFD, in place: the length stays. They come from
 * texts that were cut in the middle of a character. JSON's grammar allows them and strict readers do not: one of them
 * would make a whole exported file unreadable.
 * @param json valid JSON
 */
export function* repairSurrogates(json: Buffer): JsonWalk<void> {
  for (const start of STARTS)
    for (let from = 0; from < json.length; from += STRETCH) {
      if (from > 0) yield undefined;
      const piece = json.subarray(from, from + STRETCH + start.length - 1);
      for (let at = piece.indexOf(start); at >= 0; at = piece.indexOf(start, at + 2))
        if (isAlone(json, from + at)) json.write(REPLACEMENT, from + at + 2, 'latin1');
    }
}
