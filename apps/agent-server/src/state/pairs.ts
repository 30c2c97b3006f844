/** The pairs of a stored list of entries; other items are left out. */
export function pairs(value: unknown): [unknown, unknown][] {
  if (!Array.isArray(value)) return [];
  return value.filter((pair): pair is [unknown, unknown] => Array.isArray(pair) && pair.length === 2);
}
