/** Limits that Kubernetes has for one warning and for all. */
const MAX_CHARS = 256;
const MAX_ALL_CHARS = 4_096;

/** Values of the header `Warning`. Texts hold names of fields, which callers choose: any character, at any length. */
export function warningHeader(warnings: readonly string[]): string[] {
  const values: string[] = [];
  let left = MAX_ALL_CHARS;
  for (const text of new Set(warnings)) {
    const value = `299 - "${quoted(text)}"`;
    left -= value.length;
    if (left < 0) break;
    values.push(value);
  }
  return values;
}

function quoted(text: string): string {
  // a character has two units at most; texts may have megabytes
  const short = [...text.slice(0, 2 * MAX_CHARS).toWellFormed()].slice(0, MAX_CHARS).join('');
  const escaped = short.replace(/\p{Cc}/gu, ' ').replaceAll(/["\\]/g, '\\$&');
  // a header has bytes: those of UTF-8, as Go writes them
  return Buffer.from(escaped).toString('latin1');
}
