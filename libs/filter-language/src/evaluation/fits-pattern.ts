/**
 * True when a whole text fits a pattern of `like`: `%` is any text, `_` one character. Goes back to the last
 * `%` only, so the work is bounded by the product of both lengths.
 */
export function fitsPattern(text: string, pattern: string): boolean {
  const characters = [...text];
  const wanted = [...pattern];
  let [at, next] = [0, 0];
  let retry: readonly [number, number] | undefined;
  while (at < characters.length) {
    const mark = wanted[next];
    if (mark === '%') {
      retry = [at, ++next];
    } else if (mark === '_' || (mark !== undefined && mark === characters[at])) {
      at++;
      next++;
    } else if (retry) {
      const [from, after] = retry;
      at = from + 1;
      next = after;
      retry = [at, after];
    } else return false;
  }
  while (wanted[next] === '%') next++;
  return next === wanted.length;
}
