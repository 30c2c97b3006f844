import { visibleText } from '#lib/command-line';

/** The text in exactly `width` columns: padded, or cut with an ellipsis. */
export function fit(text: string, width: number): string {
  if (width <= 0) return '';
  const shown = visibleText(text).replaceAll('\n', ' ');
  return shown.length <= width ? shown.padEnd(width) : `${shown.slice(0, width - 1)}…`;
}
