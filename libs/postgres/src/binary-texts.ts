/** Object id of the type `text`. */
const TEXT = 25;
const HEADER_BYTES = 20;

/**
 * A parameter for `$n::text[]` in Postgres' binary form. The driver would quote each text by itself, and JSON
 * is full of characters that are quoted.
 */
export function binaryTexts(texts: readonly (Buffer | undefined)[]): Buffer {
  const length = texts.reduce((sum, text) => sum + 4 + (text?.length ?? 0), HEADER_BYTES);
  const bytes = Buffer.allocUnsafe(length);
  const header = [1, texts.includes(undefined) ? 1 : 0, TEXT, texts.length, 1];
  let at = 0;
  for (const number of header) at = bytes.writeInt32BE(number, at);
  for (const text of texts) {
    at = bytes.writeInt32BE(text ? text.length : -1, at);
    if (text) at += text.copy(bytes, at);
  }
  return bytes;
}
