import { FilterError, shown } from '../filter-error.js';
import { FILTER_LIMITS } from '../limits.js';
import { readText } from './read-text.js';

export type Token =
  | { readonly kind: 'name' | 'text' | 'number'; readonly text: string; readonly at: number }
  | { readonly kind: 'mark'; readonly text: '(' | ')' | '[' | ']' | ','; readonly at: number }
  | { readonly kind: 'end'; readonly at: number };

/** One token that begins where it is asked for; none of these goes back over text. */
const SPACE = /[ \t\r\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_.]*/y;
const NUMBER = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?(?![A-Za-z0-9_.])/y;
const MARKS = '()[],';

/** Name of a token in messages. */
export function describeToken(token: Token): string {
  if (token.kind === 'end') return 'the end of the filter';
  return token.kind === 'text' ? `the text ${shown(token.text)}` : shown(token.text);
}

/** The tokens of a filter, one ahead. */
export class Tokens {
  readonly #source: string;
  #next: Token;
  #end: number;

  constructor(source: string) {
    this.#source = source;
    [this.#next, this.#end] = this.#read(0);
  }

  /** The next token, which stays. */
  get next(): Token {
    return this.#next;
  }

  take(): Token {
    const token = this.#next;
    [this.#next, this.#end] = this.#read(this.#end);
    return token;
  }

  /** Takes the mark if it is next. */
  skip(mark: string): boolean {
    if (this.#next.kind !== 'mark' || this.#next.text !== mark) return false;
    this.take();
    return true;
  }

  #match(pattern: RegExp, at: number): string | undefined {
    pattern.lastIndex = at;
    return pattern.exec(this.#source)?.[0];
  }

  #read(from: number): [Token, number] {
    const at = from + (this.#match(SPACE, from)?.length ?? 0);
    const first = this.#source[at];
    if (first === undefined) return [{ kind: 'end', at }, at];
    if (MARKS.includes(first)) return [{ kind: 'mark', text: first as ',', at }, at + 1];
    if (first === '"' || first === "'") {
      const { text, end } = readText(this.#source, at);
      return [{ kind: 'text', text, at }, end];
    }
    const name = this.#match(NAME, at);
    if (name !== undefined) return [{ kind: 'name', text: name, at }, at + name.length];
    const number = this.#match(NUMBER, at);
    if (number === undefined)
      throw new FilterError(
        `unexpected ${shown(this.#source.slice(at, at + 10))}; expected a condition such as eq(name, "x"), a number such as -1.5e3, or a text in quotes`,
        at,
      );
    if (number.length > FILTER_LIMITS.numberCharacters)
      throw new FilterError(
        `a number has ${number.length} characters; at most ${FILTER_LIMITS.numberCharacters} are allowed`,
        at,
      );
    return [{ kind: 'number', text: number, at }, at + number.length];
  }
}
