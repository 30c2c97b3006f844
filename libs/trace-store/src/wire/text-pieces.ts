import { BACKSLASH, isAt, type JsonWalk, MAX_JSON_DEPTH, QUOTE, skipSpace, validatingJson } from '#lib/json';

/** Beginnings of escapes of U+D000 to U+DFFF. */
const STARTS = [Buffer.from('\\ud'), Buffer.from('\\uD')];
const REPLACEMENT = 'fffd';

type Half = 'high' | 'low' | undefined;

/** Half that the escape at `at` represents, by its second digit; undefined for any other bytes there. */
function halfAt(json: Buffer, at: number): Half {
  if (json[at] !== BACKSLASH || json[at + 1] !== LETTER_U || ((json[at + 2] ?? 0) | 0x20) !== 0x64)
    return undefined;
  const digit = (json[at + 3] ?? 0) | 0x20;
  if (digit === 0x38 || digit === 0x39 || digit === 0x61 || digit === 0x62) return 'high';
  return digit >= 0x63 && digit <= 0x66 ? 'low' : undefined;
}

/** True when the backslash at `at` begins an escape instead of ending one. */
function isUnescaped(json: Buffer, at: number): boolean {
  let before = at;
  while (json[before - 1] === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}

function isAlone(json: Buffer, at: number): boolean {
  const half = halfAt(json, at);
  if (half === undefined || !isUnescaped(json, at)) return false;
  if (half === 'high') return halfAt(json, at + ESCAPE_BYTES) !== 'low';
  const before = at - ESCAPE_BYTES;
  return halfAt(json, before) !== 'high' || !isUnescaped(json, before);
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

const NULL = 'null';
/** Non-finite numbers as Python's own serialiser writes them. */
const WORDS = ['NaN', '-Infinity', 'Infinity'].map((word) => Buffer.from(word));
/** No word begins with another byte. */
const FIRST = new Set(WORDS.map((word) => word[0]));
/** The shortest word grows by a third. */
const GROWTH = NULL.length / Math.min(...WORDS.map((word) => word.length));

/**
 * Replaces numbers that JSON cannot express by `null`: NaN, Infinity, -Infinity, but not inside of strings. A
 * payload may consist of millions of such words: they take memory only in the one new text.
 * @param json text whose grammar is not checked otherwise
 * @returns the new text; undefined when there is nothing to replace
 */
export function* replaceNonFinite(json: Buffer): JsonWalk<Buffer | undefined> {
  let replaced: Buffer | undefined;
  let length = 0;
  let from = 0;
  let pausedAt = 0;
  let isInString = false;
  for (let at = 0; at < json.length;) {
    if (at - pausedAt > STRETCH) {
      yield undefined;
      pausedAt = at;
    }
    const byte = json[at];
    if (isInString) {
      at += byte === BACKSLASH ? 2 : 1;
      isInString = byte !== QUOTE;
      continue;
    }
    if (byte === QUOTE) isInString = true;
    const word = FIRST.has(byte) ? WORDS.find((one) => isAt(json, at, one)) : undefined;
    if (!word) {
      at++;
      continue;
    }
    replaced ??= Buffer.allocUnsafe(Math.ceil(json.length * GROWTH));
    length += json.copy(replaced, length, from, at);
    length += replaced.write(NULL, length, 'latin1');
    at += word.length;
    from = at;
  }
  if (!replaced) return undefined;
  length += json.copy(replaced, length, from);
  return replaced.subarray(0, length);
}

/** A payload is nested no deeper beside its run than it may be inside of it: waiting updates are stored in one piece. */
const MAX_PAYLOAD_DEPTH = MAX_JSON_DEPTH - 1;

/** Options for scanning a payload as a whole. */
export const WHOLE_PAYLOAD = { levels: MAX_PAYLOAD_DEPTH };

/** A payload of which nothing is read. @throws JsonSyntaxError */
export function* validatePayload(payload: Buffer): JsonWalk<undefined> {
  yield* validatingJson(payload, MAX_PAYLOAD_DEPTH);
}

/** White space behind a value that is left out; a scan skips the rest. */
const MAX_SPACE = 65_536;

/** The text without the white space around the value. @throws JsonSyntaxError */
export function trimmed(bytes: Buffer): Buffer {
  let end = bytes.length;
  const least = Math.max(0, end - MAX_SPACE);
  while (end > least && (bytes[end - 1] ?? 0) <= 0x20) end--;
  return bytes.subarray(skipSpace(bytes, 0), end);
}

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
