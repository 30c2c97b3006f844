import { BACKSLASH, QUOTE } from '#lib/json';

const NULL = Buffer.from('null');
/** As Python's own serialiser writes them. */
const WORDS = ['NaN', '-Infinity', 'Infinity'].map((word) => Buffer.from(word));

/** Whether the JSON text may hold one of the words. */
function mayHold(json: Buffer): boolean {
  return json.includes('NaN') || json.includes('Infinity');
}

function afterString(json: Buffer, at: number): number {
  for (let i = at + 1; ; i++) {
    i = json.indexOf(QUOTE, i);
    if (i < 0) return json.length;
    let escapes = 0;
    while (json[i - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return i + 1;
  }
}

/**
 * Puts `null` where JSON has no word for a number: NaN, Infinity, -Infinity, but not inside of strings.
 * @param json text whose grammar is not looked at otherwise
 * @returns the new text; undefined where there is nothing to replace
 */
export function replaceNonFinite(json: Buffer): Buffer | undefined {
  if (!mayHold(json)) return undefined;
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = 0; at < json.length;) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = afterString(json, at);
      continue;
    }
    const word =
      byte === 0x4e || byte === 0x49 || byte === 0x2d
        ? WORDS.find((one) => json.subarray(at, at + one.length).equals(one))
        : undefined;
    if (!word) {
      at++;
      continue;
    }
    parts.push(json.subarray(from, at), NULL);
    at += word.length;
    from = at;
  }
  return parts.length === 0 ? undefined : Buffer.concat([...parts, json.subarray(from)]);
}
