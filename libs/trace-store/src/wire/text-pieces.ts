import { BACKSLASH } from '#lib/json';
import { halfAt } from './repair-surrogates.js';

/** Bytes of a piece. */
const STRETCH = 64 * 1024;
const ESCAPE_BYTES = 6;

/**
 * Cuts the text of a long JSON string into pieces that are texts of JSON strings themselves: no character, no escape and
 * no pair of escaped halves is cut. At least one, which may be empty.
 * @param json one valid JSON string in UTF-8, without halves of surrogate pairs that stand alone
 */
export function* textPieces(json: Buffer): Generator<Buffer, void, undefined> {
  const end = json.length - 1;
  let from = 1;
  do {
    const to = end - from > STRETCH ? cutBefore(json, from, from + STRETCH) : end;
    yield json.subarray(from, to);
    from = to;
  } while (from < end);
}

/** The last place up to `at` where a text that begins at `from` may be cut. */
function cutBefore(json: Buffer, from: number, at: number): number {
  let cut = at;
  while (((json[cut] as number) & 0xc0) === 0x80) cut--;
  for (let i = cut - 1; i > cut - ESCAPE_BYTES; i--) {
    if (json[i] !== BACKSLASH || !beginsEscape(json, from, i)) continue;
    if (i + (json[i + 1] === LETTER_U ? ESCAPE_BYTES : 2) > cut) cut = i;
    break;
  }
  const before = cut - ESCAPE_BYTES;
  const isPair =
    halfAt(json, cut) === 'low' && halfAt(json, before) === 'high' && beginsEscape(json, from, before);
  return isPair ? before : cut;
}

const LETTER_U = 0x75;

function beginsEscape(json: Buffer, from: number, at: number): boolean {
  let before = at;
  while (before > from && json[before - 1] === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}
