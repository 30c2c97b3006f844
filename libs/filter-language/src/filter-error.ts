/** A filter that has no meaning. The message says what was found, where, and what would be right. */
export class FilterError extends Error {
  constructor(
    problem: string,
    /** Characters of the filter before the mistake. */
    readonly offset: number,
  ) {
    super(`filter, position ${offset}: ${problem}`);
    this.name = 'FilterError';
  }
}

const MAX_SHOWN = 60;

/** Text of a caller in the form for a message: in quotes, on one line, not long. */
export function shown(text: string): string {
  const characters = [...text.slice(0, 2 * MAX_SHOWN)];
  const cut = characters.slice(0, MAX_SHOWN).join('');
  return JSON.stringify(cut.length < text.length ? `${cut}…` : text);
}
