const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * A progress bar `width` columns wide, exact to an eighth of a column.
 * @param fraction 0 to 1; anything else is clipped
 */
export function bar(fraction: number, width: number): string {
  const clipped = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
  const eighths = Math.round(clipped * width * 8);
  const filled = '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
  return filled.padEnd(width, '░');
}
