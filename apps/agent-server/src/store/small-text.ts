/** A text of this size is looked into without a turn of its own. */
export const SMALL_BYTES = 64 * 1024;

/** SQL: a text; null for a large one, unless the parameter says that it may be large. */
export function smallText(text: string, mayBeLarge: string): string {
  return `CASE WHEN ${mayBeLarge}::boolean OR octet_length(${text}) <= ${SMALL_BYTES} THEN ${text} END`;
}
