import { type ByteRange, parseJson } from '#lib/json';

/**
 * Facts are short. A longer value is ignored, since building it would take many times the memory of its text.
 */
const MAX_FACT_BYTES = 65_536;

/** The value of a short part of a JSON text. */
export function parseRange(bytes: Buffer, range: ByteRange): unknown {
  if (range.end - range.start > MAX_FACT_BYTES) return undefined;
  return parseJson(bytes.toString('utf8', range.start, range.end));
}
