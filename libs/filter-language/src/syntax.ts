import { FilterError, shown } from './filter-error.js';
import { FILTER_LIMITS } from './limits.js';

type Token =
  | { readonly kind: 'name' | 'text' | 'number'; readonly text: string; readonly at: number }
  | { readonly kind: 'mark'; readonly text: '(' | ')' | '[' | ']' | ','; readonly at: number }
  | { readonly kind: 'end'; readonly at: number };

/** One token that begins where it is asked for; none of these goes back over text. */
const SPACE = /[ \t\r\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_.]*/y;
const NUMBER = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?(?![A-Za-z0-9_.])/y;
const MARKS = '()[],';

/** Name of a token in messages. */
function describeToken(token: Token): string {
  if (token.kind === 'end') return 'the end of the filter';
  return token.kind === 'text' ? `the text ${shown(token.text)}` : shown(token.text);
}

/** The tokens of a filter, one ahead. */
class Tokens {
  #next: Token;
  #end: number;

  constructor(private readonly source: string) {
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
    return pattern.exec(this.source)?.[0];
  }

  #read(from: number): [Token, number] {
    const at = from + (this.#match(SPACE, from)?.length ?? 0);
    const first = this.source[at];
    if (first === undefined) return [{ kind: 'end', at }, at];
    if (MARKS.includes(first)) return [{ kind: 'mark', text: first as ',', at }, at + 1];
    if (first === '"' || first === "'") {
      const { text, end } = readText(this.source, at);
      return [{ kind: 'text', text, at }, end];
    }
    const name = this.#match(NAME, at);
    if (name !== undefined) return [{ kind: 'name', text: name, at }, at + name.length];
    const number = this.#match(NUMBER, at);
    if (number === undefined)
      throw new FilterError(
        `unexpected ${shown(this.source.slice(at, at + 10))}; expected a condition such as eq(name, "x"), a number such as -1.5e3, or a text in quotes`,
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

const ESCAPED: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const HEX = /[0-9a-fA-F]{4}/y;

/** One escape, whose backslash is at `at`. */
function readEscape(source: string, at: number): { text: string; end: number } {
  const letter = source[at + 1] ?? '';
  const plain = Object.hasOwn(ESCAPED, letter) ? ESCAPED[letter] : undefined;
  if (plain !== undefined) return { text: plain, end: at + 2 };
  HEX.lastIndex = at + 2;
  const code = letter === 'u' ? HEX.exec(source)?.[0] : undefined;
  if (code === undefined)
    throw new FilterError(
      `unknown escape ${shown(source.slice(at, at + 2))} in a text; write \\\\ for a backslash, or one of \\" \\' \\/ \\b \\f \\n \\r \\t \\uXXXX`,
      at,
    );
  return { text: String.fromCharCode(Number.parseInt(code, 16)), end: at + 6 };
}

/**
 * Reads the text in quotes that begins at `from`: either quote, the escapes of JSON and `\'`. Characters that
 * Postgres cannot hold are refused here, once for all fields.
 * @throws FilterError also for U+0000 and halves of surrogate pairs
 */
function readText(source: string, from: number): { readonly text: string; readonly end: number } {
  const quote = source[from];
  let text = '';
  let plainFrom = from + 1;
  let at = plainFrom;
  while (source[at] !== quote) {
    if (at >= source.length) throw new FilterError(`a text in quotes has no end; expected ${quote}`, from);
    if (source[at] !== '\\') {
      at++;
      continue;
    }
    const escape = readEscape(source, at);
    text += source.slice(plainFrom, at) + escape.text;
    at = plainFrom = escape.end;
  }
  text += source.slice(plainFrom, at);
  if (text.includes('\0'))
    throw new FilterError('a text holds U+0000, which no run can hold; remove it', from);
  if (!text.isWellFormed())
    throw new FilterError('a text holds half of a surrogate pair; write the whole character', from);
  return { text, end: at + 1 };
}

/** An expression as it was written. Names may be fields, or the literals true, false and null. */
export type Syntax =
  | SyntaxCall
  | { readonly kind: 'name' | 'text' | 'number'; readonly text: string; readonly at: number }
  | { readonly kind: 'list'; readonly items: readonly Syntax[]; readonly at: number };

export interface SyntaxCall {
  readonly kind: 'call';
  readonly name: string;
  readonly args: readonly Syntax[];
  readonly at: number;
}

function limit(what: string, most: number, at: number): FilterError {
  return new FilterError(`the filter has more than ${most} ${what}; simplify it or split the query`, at);
}

/** Recursion is bounded by the limit of levels, loops by the length of the text. */
class SyntaxParser {
  readonly #tokens: Tokens;
  #calls = 0;

  constructor(source: string) {
    this.#tokens = new Tokens(source);
  }

  whole(): Syntax {
    const expression = this.#expression(0);
    const { next } = this.#tokens;
    if (next.kind === 'end') return expression;
    throw new FilterError(
      `unexpected ${describeToken(next)} after the end of the condition; put several conditions into and(…) or or(…)`,
      next.at,
    );
  }

  #expression(level: number): Syntax {
    const token = this.#tokens.take();
    if (token.kind === 'mark' && token.text === '[') return this.#list(token);
    if (token.kind === 'mark' || token.kind === 'end') throw this.#unexpected(token);
    const isCall = token.kind === 'name' && this.#tokens.skip('(');
    return isCall ? this.#call(token.text, token.at, level + 1) : token;
  }

  #unexpected(token: Token): FilterError {
    return new FilterError(
      `unexpected ${describeToken(token)}; expected a condition such as eq(name, "x"), a field or a value`,
      token.at,
    );
  }

  #call(name: string, at: number, level: number): SyntaxCall {
    if (level > FILTER_LIMITS.levels) throw limit('levels of nested conditions', FILTER_LIMITS.levels, at);
    if (++this.#calls > FILTER_LIMITS.calls) throw limit('conditions', FILTER_LIMITS.calls, at);
    const args = this.#until(')', () => this.#expression(level), `${name}(`, at);
    return { kind: 'call', name, args, at };
  }

  #list({ at }: Token): Syntax {
    let count = 0;
    const item = (): Syntax => {
      const token = this.#tokens.take();
      if (++count > FILTER_LIMITS.listItems)
        throw limit('items in a list', FILTER_LIMITS.listItems, token.at);
      if (token.kind === 'mark' || token.kind === 'end')
        throw new FilterError(`unexpected ${describeToken(token)} in a list; expected a value`, token.at);
      return token;
    };
    return { kind: 'list', items: this.#until(']', item, '[', at), at };
  }

  /** Items with commas between them, up to the mark that ends them. */
  #until(mark: string, item: () => Syntax, opening: string, at: number): Syntax[] {
    const items: Syntax[] = [];
    if (this.#tokens.skip(mark)) return items;
    for (;;) {
      items.push(item());
      if (this.#tokens.skip(mark)) return items;
      const { next } = this.#tokens;
      if (this.#tokens.skip(',')) continue;
      const found = describeToken(next);
      throw new FilterError(
        `found ${found} where "," or "${mark}" should follow, inside of ${opening} at position ${at}`,
        next.at,
      );
    }
  }
}

/** @throws FilterError */
export function parseSyntax(source: string): Syntax {
  return new SyntaxParser(source).whole();
}
