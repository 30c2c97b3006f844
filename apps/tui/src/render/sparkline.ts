const LEVELS = '▁▂▃▄▅▆▇█';

/** The last `width` values as a line of blocks; the highest value is a full block. Nothing for no values. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = values.slice(-width);
  const top = Math.max(...shown, 0);
  return shown
    .map((value) => (top > 0 ? LEVELS[Math.min(7, Math.floor((value / top) * 7.999))] : LEVELS[0]))
    .join('');
}
