/** As much as Kubernetes sends of one warning and of all. */
const MAX_CHARS = 256;
const MAX_ALL_CHARS = 4_096;

/** Values of the header `Warning`. Texts hold names of fields, which callers choose: any character, at any length. */
export function warningHeader(warnings: readonly string[]): string[] {
  let left = MAX_ALL_CHARS;
  return [...new Set(warnings)]
    .map((text) => `299 - "${quoted(text)}"`)
    .filter((value) => (left -= value.length) >= 0);
}

function quoted(text: string): string {
  const characters = [...text.toWellFormed()];
  const short = characters.length > MAX_CHARS ? characters.slice(0, MAX_CHARS).join('') : text.toWellFormed();
  const escaped = short.replace(/\p{Cc}/gu, ' ').replaceAll(/["\\]/g, '\\$&');
  // a header has bytes: those of UTF-8, as Go writes them
  return Buffer.from(escaped).toString('latin1');
}
