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

/** Longer words are no misspelt name; also bounds the work. */
const MAX_LENGTH = 40;

/** Insertions, deletions, replacements and swaps of neighbours that make one word of the other. */
function distance(one: string, other: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const replaced = (row[j] ?? 0) + (one[i] === other[j] ? 0 : 1);
      const isSwap = i > 0 && j > 0 && one[i] === other[j - 1] && one[i - 1] === other[j];
      const swapped = isSwap ? (before[j - 1] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[other.length] ?? 0;
}

/** The name that was probably meant, if one is near. */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const far = distance(lower, name);
    if (far < least) [best, least] = [name, far];
  }
  return best;
}
