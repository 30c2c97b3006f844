import { checkCondition, type Draft, joinAnd, joinNot, joinOr, settle } from './check-condition.js';
import { FilterError, nearestName, shown } from './filter-error.js';
import { type Filter, lookupsOf } from './filter.js';
import { FILTER_LIMITS } from './limits.js';
import { isOperator, OPERATOR_NAMES, OPERATORS } from './fields.js';
import { describeSyntax } from './read-operand.js';
import { parseSyntax, type Syntax, type SyntaxCall } from './syntax.js';

/** Checks what the syntax says. Its depth is bounded, so this may be recursive. */
class Checker {
  check(syntax: Syntax): Draft {
    if (syntax.kind !== 'call')
      throw new FilterError(
        `expected a condition; found ${describeSyntax(syntax)}; write for example eq(name, "x")`,
        syntax.at,
      );
    const { name, at } = syntax;
    if (!isOperator(name)) {
      const nearest = nearestName(name, OPERATOR_NAMES);
      throw new FilterError(
        `unknown operator ${shown(name)}; ${nearest === undefined ? '' : `did you mean ${nearest}? `}operators are ${OPERATOR_NAMES.join(', ')}`,
        at,
      );
    }
    if (name === 'and' || name === 'or' || name === 'not') return this.#logic(syntax, name);
    return checkCondition(syntax, name);
  }

  #logic({ args, at }: SyntaxCall, name: 'and' | 'or' | 'not'): Draft {
    const [first] = args;
    if (!first || (name === 'not' && args.length > 1))
      throw new FilterError(
        `${name} has ${args.length === 0 ? 'no condition' : `${args.length} conditions`}; write ${OPERATORS[name].form}`,
        at,
      );
    if (name === 'not') return joinNot(this.check(first), at);
    const drafts = args.map((arg) => this.check(arg));
    return name === 'and' ? joinAnd(drafts, at) : joinOr(drafts, at);
  }
}

/**
 * Parses and checks a filter. Costs are bounded by `FILTER_LIMITS`.
 * @returns undefined for an empty text: no filter
 * @throws FilterError
 */
export function parseFilter(text: string): Filter | undefined {
  if (text.length > FILTER_LIMITS.characters)
    throw new FilterError(
      `the filter has ${text.length} characters; at most ${FILTER_LIMITS.characters} are allowed`,
      FILTER_LIMITS.characters,
    );
  if (text.trim() === '') return undefined;
  const filter = settle(new Checker().check(parseSyntax(text)));
  const excess = lookupsOf(filter)[FILTER_LIMITS.lookups];
  if (excess)
    throw new FilterError(
      `the filter has more than ${FILTER_LIMITS.lookups} conditions on error, metadata, inputs, outputs, feedback or texts, each of which reads more than the run itself; use in(…), or split the query`,
      excess.at,
    );
  return filter;
}

/** The problem of a filter, for programs that keep its text. */
export function findFilterProblem(text: string): FilterError | undefined {
  try {
    parseFilter(text);
    return undefined;
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
}
