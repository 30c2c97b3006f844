/** Texts up to this size are parsed at once, without waiting for others. */
export const SMALL_BYTES = 64 * 1024;

/** SQL: a text; null for a large one, unless the parameter says that it may be large. */
export function smallText(text: string, mayBeLarge: string): string {
  return `CASE WHEN ${mayBeLarge}::boolean OR octet_length(${text}) <= ${SMALL_BYTES} THEN ${text} END`;
}
