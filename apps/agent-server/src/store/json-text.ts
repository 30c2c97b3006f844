/** Texts up to this size are parsed at once, without waiting for others. */
export const SMALL_BYTES = 64 * 1024;

/** SQL: a text; null for a large one, unless the parameter says that it may be large. */
export function smallText(text: string, mayBeLarge: string): string {
  return `CASE WHEN ${mayBeLarge}::boolean OR octet_length(${text}) <= ${SMALL_BYTES} THEN ${text} END`;
}

/** JSON text for a `json` column. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/**
 * Half a character: `JSON.stringify` escapes a surrogate without its other half, and nothing else of that
 * range.
 */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;
const NUL = /(?<!\\)((?:\\\\)*)\\u0000/g;

/**
 * JSON text for a `jsonb` column, which refuses NUL characters and lone surrogates: both become U+FFFD.
 * Leaving them out would turn one text into another, which may be the name of another user.
 */
export function jsonbText(value: unknown): string {
  const text = jsonText(value);
  const whole = text.includes('\\ud') ? text.replace(LONE_SURROGATE, '$1\\ufffd') : text;
  return whole.includes('\\u0000') ? whole.replace(NUL, '$1\\ufffd') : whole;
}
