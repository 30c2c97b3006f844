import { isJsonObject } from '#lib/json';
import { listAt, textAt, textsAt } from '../object/reading.js';
import { quote } from '../schema/field-error.js';
import { labelValue, qualifiedName } from '../schema/names.js';
import { badRequest } from '../status/errors.js';

interface Token {
  readonly kind: 'word' | 'symbol' | 'end';
  readonly text: string;
}

/** A selector of kilobytes would be compared with every object of the kind while all others wait. */
const MAX_REQUIREMENTS = 32;
/** Maximum number of values in all requirements. */
const MAX_VALUES = 500;

const TOKEN = /\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)/gy;
const SYMBOL = /^(?:==|!=|[=!<>(),])$/;
const END: Token = { kind: 'end', text: '' };
const OPERATORS: Readonly<Record<string, LabelRequirement['operator']>> = {
  in: 'in',
  notin: 'notin',
  '=': 'in',
  '==': 'in',
  '!=': 'notin',
  '>': 'gt',
  '<': 'lt',
};

/** Parses `a=b,c!=d,e in (f,g),!h`. Throws 400 with Kubernetes' words on anything else. */
export function parseLabelSelector(text: string): LabelSelector {
  const selector = new Parser(tokens(text)).selector();
  const values = selector.reduce((sum, one) => sum + one.values.length, 0);
  refuseMore(selector.length, MAX_REQUIREMENTS, 'requirements');
  refuseMore(values, MAX_VALUES, 'values');
  return selector;
}

function refuseMore(found: number, most: number, what: string): void {
  if (found > most)
    throw badRequest(`invalid label selector: it has ${found} ${what}, at most ${most} are supported`);
}

function tokens(text: string): readonly Token[] {
  return [...text.trimEnd().matchAll(TOKEN)].map(([, token = '']) => ({
    kind: SYMBOL.test(token) ? 'symbol' : 'word',
    text: token,
  }));
}

/** One pass over the tokens; each method reads one part of the grammar. */
class Parser {
  #at = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  selector(): LabelSelector {
    const requirements: LabelRequirement[] = [];
    while (this.#peek().kind !== 'end') {
      const start = this.#peek();
      if (start.kind !== 'word' && start.text !== '!') {
        throw badRequest(`found '${start.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(checked(this.#requirement()));
      const after = this.#take();
      if (after.kind === 'end') break;
      if (after.text !== ',') throw badRequest(`found '${after.text}', expected: ',' or 'end of string'`);
      const next = this.#peek();
      if (next.kind !== 'word' && next.text !== '!') {
        throw badRequest(`found '${next.text}', expected: identifier after ','`);
      }
    }
    return requirements;
  }

  #requirement(): LabelRequirement {
    const isAbsent = this.#peek().text === '!' && this.#take() !== END;
    const key = this.#take();
    if (key.kind !== 'word') throw unparsed(`found '${key.text}', expected: identifier`);
    if (isAbsent) return { key: key.text, operator: 'absent', values: [] };
    const next = this.#peek();
    if (next.kind === 'end' || next.text === ',') return { key: key.text, operator: 'exists', values: [] };
    this.#take();
    const operator = Object.hasOwn(OPERATORS, next.text) ? OPERATORS[next.text] : undefined;
    if (!operator) throw unparsed(`found '${next.text}', expected: in, notin, =, ==, !=, gt, lt`);
    const isSet = next.text === 'in' || next.text === 'notin';
    return { key: key.text, operator, values: isSet ? this.#set() : [this.#value()] };
  }

  #value(): string {
    const next = this.#peek();
    if (next.kind === 'end' || next.text === ',') return '';
    this.#take();
    if (next.kind !== 'word') throw unparsed(`found '${next.text}', expected: identifier`);
    return next.text;
  }

  #set(): readonly string[] {
    const open = this.#take();
    if (open.text !== '(') throw unparsed(`found '${open.text}' expected: '('`);
    const values: string[] = [];
    for (let isValueDue = true; ;) {
      const token = this.#take();
      if (token.kind === 'word' && isValueDue) values.push(token.text);
      else if (token.text === ',' || token.text === ')') {
        if (isValueDue) values.push('');
        if (token.text === ')') return values;
      } else throw unparsed(`found '${token.text}', expected: ',', ')' or identifier`);
      isValueDue = token.text === ',';
    }
  }

  #peek(): Token {
    return this.tokens[this.#at] ?? END;
  }

  #take(): Token {
    return this.tokens[this.#at++] ?? END;
  }
}

/** Keys and values that no label can have match nothing; saying so finds the mistake. */
function checked(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement;
  const [keyProblem] = qualifiedName(key);
  if (keyProblem) throw unparsed(`<nil>: Invalid value: ${quote(key)}: ${keyProblem}`);
  values.forEach((value, index) => {
    const isNumber = operator === 'gt' || operator === 'lt';
    if (isNumber && !/^-?\d+$/.test(value)) {
      const why = "for 'Gt', 'Lt' operators, the value must be an integer";
      throw unparsed(`values[${index}]: Invalid value: ${quote(value)}: ${why}`);
    }
    const [problem] = labelValue(value);
    if (problem) throw unparsed(`values[${index}][${key}]: Invalid value: ${quote(value)}: ${problem}`);
  });
  return requirement;
}

function unparsed(why: string) {
  return badRequest(`unable to parse requirement: ${why}`);
}

interface LabelRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: readonly string[];
}

/** All requirements must hold. */
export type LabelSelector = readonly LabelRequirement[];

export function matchesLabels(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return selector.every((requirement) => holds(requirement, labelOf(labels, requirement.key)));
}

/** Only what was set: every object answers to `constructor`. */
function labelOf(labels: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function holds({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'lt':
      return value !== undefined && Number(value) < Number(values[0]);
  }
}

const EXPRESSION_OPERATORS: ReadonlyMap<string, string> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
]);

/** The text of a `spec.selector` with matchLabels and matchExpressions, as tables and `/scale` show it. */
export function labelSelectorText(selector: unknown): string {
  if (!isJsonObject(selector)) return '';
  const labels = isJsonObject(selector.matchLabels) ? Object.entries(selector.matchLabels) : [];
  const equal = labels.map(([key, value]) => `${key}=${String(value)}`);
  const expressions = listAt(selector, 'matchExpressions').map((expression) => {
    const key = textAt(expression, ['key']);
    const operator = textAt(expression, ['operator']);
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${EXPRESSION_OPERATORS.get(operator) ?? operator} (${[...textsAt(expression, 'values')].sort().join(',')})`;
  });
  return [...equal, ...expressions].sort().join(',');
}
