import { BACKSLASH, isAt, type JsonWalk, QUOTE } from '#lib/json';

const NULL = 'null';
/** Non-finite numbers as Python's own serialiser writes them. */
const WORDS = ['NaN', '-Infinity', 'Infinity'].map((word) => Buffer.from(word));
/** No word begins with another byte. */
const FIRST = new Set(WORDS.map((word) => word[0]));
/** Bytes between two pauses. */
const STRETCH = 64 * 1024;
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
