/** The text in exactly `width` columns: padded, or cut with an ellipsis. */
export function fit(text: string, width: number): string {
  if (width <= 0) return '';
  return text.length <= width ? text.padEnd(width) : `${text.slice(0, width - 1)}…`;
}
