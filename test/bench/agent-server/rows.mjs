/** The name of the server that all figures are about. */
export const OURS = 'ours';

/** @param {Map<string, object>} found by server, as `inTurns` answers @returns the row of one figure, in a list */
export function rowsOf(found, figure, row) {
  const { [OURS]: ours, ...peers } = Object.fromEntries(
    [...found].map(([name, figures]) => [name, figures[figure]]),
  );
  return [{ ...row, ours, peers }];
}
