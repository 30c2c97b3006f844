/** The text without slashes at its end; of `/`, nothing is left. Looks at them alone: texts may be of callers. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (text.endsWith('/', end)) end--;
  return text.slice(0, end);
}
