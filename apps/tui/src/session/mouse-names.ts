/** A report of SGR mode (1006): button, column, line; `m` is the release. */
const REPORT = /\u001b\[<(\d+);\d+;(\d+)M/g;

/**
 * Mouse events in some input, named as keys are: `wheelup`, `wheeldown`, `click-LINE` with lines counted from
 * 1. Releases and other buttons have no names.
 */
export function mouseNamesOf(input: string): readonly string[] {
  return [...input.matchAll(REPORT)].flatMap(
    ([, button = '', line = '']) => ({ 0: `click-${line}`, 64: 'wheelup', 65: 'wheeldown' })[button] ?? [],
  );
}
