/** JSON text for a `json` column. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/** JSON text for a `jsonb` column, which refuses NUL characters: they are left out. */
export function jsonbText(value: unknown): string {
  const text = jsonText(value);
  return text.includes('\\u0000') ? text.replace(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1') : text;
}
