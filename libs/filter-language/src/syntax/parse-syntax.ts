import { FilterError } from '../filter-error.js';
import { FILTER_LIMITS } from '../limits.js';
import { describeToken, type Token, Tokens } from './tokens.js';

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
