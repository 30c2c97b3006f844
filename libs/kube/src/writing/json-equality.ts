/** Whether two JSON values are equal; a field that is undefined counts as absent. */
export function isJsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, at) => isJsonEqual(item, b[at]));
  if (!isRecord(a) || !isRecord(b)) return false;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
    if (!isJsonEqual(a[key], b[key])) return false;
  return true;
}

/** Whether everything that `part` says is so in `whole`; lists must be equal in length and, one by one, contained. */
export function isJsonContained(part: unknown, whole: unknown): boolean {
  if (part === whole || part === undefined) return true;
  if (Array.isArray(part))
    return (
      Array.isArray(whole) &&
      part.length === whole.length &&
      part.every((item, at) => isJsonContained(item, whole[at]))
    );
  if (!isRecord(part) || !isRecord(whole)) return false;
  return Object.entries(part).every(([key, value]) => isJsonContained(value, whole[key]));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
