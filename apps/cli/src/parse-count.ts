/** A number of things to show, such as `--limit 20`. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d{1,5}$/.test(text) || count < 1) throw new Error('must be a number from 1');
  return count;
}
