import type { Item } from '../world/items.js';

/** Texts of a row that the filter searches. */
export interface Searchable {
  /** Everything that its cells say, in lower case. */
  readonly text: string;
  /** A column, a field or a label by name, in lower case; undefined when it has none. */
  valueOf(name: string): string | undefined;
}

interface Term {
  readonly isNegated: boolean;
  readonly field?: string;
  readonly wanted: string;
}

const FIELD = /^([^=!\s]+?)(!?)=(.*)$/;

/**
 * The rows that a filter lets through. Words separated by spaces must all match: `text` anywhere, `key=value`
 * a part of a column, field or label, `key=` one that is empty; `!` before a word, or `key!=value`, negates
 * it. Case does not matter.
 * @returns undefined for an empty filter, which lets everything through
 */
export function parseFilter(filter: string): ((row: Searchable) => boolean) | undefined {
  const terms = filter.toLowerCase().split(/\s+/).filter(isWord).map(parseTerm);
  if (terms.length === 0) return undefined;
  return (row) => terms.every((term) => matches(term, row) !== term.isNegated);
}

/** True for a condition in the filter language, such as `eq(status, "error")`, and for the beginning of one. */
export function isCondition(filter: string): boolean {
  return /^\s*[a-z_]+\(/i.test(filter);
}

/** Keys that a filter names. */
export function filterKeys(filter: string): readonly string[] {
  const terms = filter.toLowerCase().split(/\s+/).filter(isWord).map(parseTerm);
  return terms.flatMap(({ field }) => field ?? []);
}

function isWord(word: string): boolean {
  return word !== '' && word !== '!';
}

function parseTerm(word: string): Term {
  const isNegated = word.startsWith('!');
  const rest = isNegated ? word.slice(1) : word;
  const [, field, not = '', wanted = ''] = FIELD.exec(rest) ?? [];
  if (field === undefined) return { isNegated, wanted: rest };
  return { isNegated: isNegated !== (not === '!'), field, wanted };
}

function matches({ field, wanted }: Term, row: Searchable): boolean {
  if (field === undefined) return row.text.includes(wanted);
  const value = row.valueOf(field);
  return wanted === '' ? (value ?? '') === '' : (value ?? '').toLowerCase().includes(wanted);
}

/** Texts of items, made once for each. */
export class SearchTexts {
  readonly #texts = new WeakMap<Item, string>();
  readonly #textOf: (item: Item) => string;

  constructor(textOf: (item: Item) => string) {
    this.#textOf = textOf;
  }

  of(item: Item): string {
    const known = this.#texts.get(item);
    if (known !== undefined) return known;
    const text = this.#textOf(item).toLowerCase();
    this.#texts.set(item, text);
    return text;
  }
}
