const COUNT_UNITS = ['', 'k', 'M', 'G'];
const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

function scaled(value: number, units: readonly string[], gap: string): string {
  let at = 0;
  let rest = value;
  while (rest >= 999.5 && at < units.length - 1) {
    rest /= 1000;
    at++;
  }
  const digits = at === 0 || rest >= 99.95 ? 0 : 1;
  return `${rest.toFixed(digits)}${gap}${units[at]}`;
}

/** 12345 → `12.3k`. */
export function count(value: number): string {
  return scaled(value, COUNT_UNITS, '');
}

/** Decimal units: 12345678 → `12.3 MB`. */
export function bytes(value: number): string {
  return scaled(value, BYTE_UNITS, ' ');
}
