import { isUtf8 } from 'node:buffer';

/** Offset of the first byte that is not UTF-8; decoders put U+FFFD there without a word. */
export function findInvalidUtf8(bytes: Buffer): number | undefined {
  if (isUtf8(bytes)) return undefined;
  const mended = Buffer.from(bytes.toString('utf8'));
  let at = 0;
  while (bytes[at] === mended[at]) at++;
  return at;
}
