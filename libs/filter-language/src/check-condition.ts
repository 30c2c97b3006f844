import {
  type Comparator,
  FIELD_NAMES,
  type FieldName,
  fieldRow,
  isField,
  type OperatorName,
  OPERATORS,
  operatorsOf,
  type PairFamily,
  type PairField,
  type PairPart,
  type RunField,
  type SearchField,
} from './fields.js';
import { FilterError, nearestName, shown } from './filter-error.js';
import type { Filter, PairCondition } from './filter.js';
import { describeSyntax, readJsonObject, readOperand } from './read-operand.js';
import type { Syntax, SyntaxCall } from './syntax.js';

/** Conditions about a pair, as long as it is open which pair: the nearest `and` decides. */
interface PairDraft {
  readonly kind: 'draft';
  readonly family: PairFamily;
  readonly part: PairPart;
  readonly condition: PairCondition;
  readonly at: number;
}

export type Draft = Filter | PairDraft;

function isNegative(condition: PairCondition): boolean {
  return condition.kind === 'compare' && condition.operator === 'neq';
}

/** The filter that a draft is without a neighbour: each comparison is about some pair of the run, a negative about all. */
export function settle(draft: Draft): Filter {
  return draft.kind === 'draft' ? alone(draft.family, draft.condition) : draft;
}

function alone(family: PairFamily, condition: PairCondition): Filter {
  const { at } = condition;
  switch (condition.kind) {
    case 'and':
    case 'or':
      return { ...condition, conditions: condition.conditions.map((each) => alone(family, each)) };
    case 'not':
      return { kind: 'not', condition: alone(family, condition.condition), at };
    case 'compare': {
      if (!isNegative(condition)) return { kind: 'pair', family, condition, at };
      const positive = { ...condition, operator: 'eq' } as const;
      return { kind: 'not', condition: { kind: 'pair', family, condition: positive, at }, at };
    }
    default:
      return condition satisfies never;
  }
}

/** Two values of one field that a single pair should have. */
function refuseSecondValue(drafts: readonly PairDraft[]): void {
  const seen = new Set<string>();
  for (const { condition } of drafts) {
    if (condition.kind !== 'compare' || (condition.operator !== 'eq' && condition.operator !== 'in'))
      continue;
    const { field, operator, at } = condition;
    if (seen.has(field))
      throw new FilterError(
        `a second ${operator}(${field}, …) in one and(…), whose conditions are about one pair, which has one ${field}; ` +
          `put each pair into an and(…) of its own: and(and(eq(${field}, …), …), and(eq(${field}, …), …))`,
        at,
      );
    seen.add(field);
  }
}

/** The conditions of one family inside one `and`. */
function joinFamily(family: PairFamily, drafts: readonly PairDraft[], at: number): readonly Filter[] {
  const isKey = ({ part }: PairDraft) => part === 'key';
  const isPositive = ({ condition }: PairDraft) => condition.kind === 'compare' && !isNegative(condition);
  const hasKey = drafts.some((draft) => isKey(draft) && isPositive(draft));
  const hasValue = drafts.some((draft) => !isKey(draft) && isPositive(draft));
  const isJoined = (draft: PairDraft): boolean => {
    if (isKey(draft)) return isPositive(draft);
    return hasKey || (hasValue && draft.condition.kind === 'compare');
  };
  const joined = drafts.filter(isJoined);
  const others = drafts.filter((draft) => !isJoined(draft)).map(settle);
  if (joined.length === 0) return others;
  refuseSecondValue(joined);
  const conditions = joined.map(({ condition }) => condition);
  const condition =
    conditions.length === 1 && conditions[0] ? conditions[0] : { kind: 'and' as const, conditions, at };
  return [{ kind: 'pair', family, condition, at }, ...others];
}

/**
 * `and`: its conditions on one family are about one pair, provided that there is a positive one to find it
 * by.
 */
export function joinAnd(drafts: readonly Draft[], at: number): Filter {
  const ofPairs = drafts.filter((draft) => draft.kind === 'draft');
  const families = Map.groupBy(ofPairs, ({ family }) => family);
  const conditions = [
    ...drafts.filter((draft) => draft.kind !== 'draft'),
    ...[...families].flatMap(([family, members]) => joinFamily(family, members, at)),
  ];
  return { kind: 'and', conditions, at };
}

/**
 * `or` and `not`: over values of one family they may still belong to a pair; over anything else each is a
 * condition of its own.
 */
export function joinOr(drafts: readonly Draft[], at: number): Draft {
  const [first] = drafts;
  const members = drafts.filter((draft) => draft.kind === 'draft');
  const isOfOnePair =
    first?.kind === 'draft' &&
    members.length === drafts.length &&
    members.every(({ family, part }) => family === first.family && part !== 'key');
  if (!isOfOnePair) return { kind: 'or', conditions: drafts.map(settle), at };
  return {
    ...first,
    condition: { kind: 'or', conditions: members.map(({ condition }) => condition), at },
    at,
  };
}

export function joinNot(draft: Draft, at: number): Draft {
  if (draft.kind !== 'draft' || draft.part === 'key') return { kind: 'not', condition: settle(draft), at };
  return { ...draft, condition: { kind: 'not', condition: draft.condition, at }, at };
}

/** Fields in which `search` looks when none is named. */
const EVERY_SEARCHED: readonly SearchField[] = ['name', 'error', 'tags', 'inputs', 'outputs', 'metadata'];

function wrongArguments({ name, args, at }: SyntaxCall, operator: OperatorName): FilterError {
  return new FilterError(
    `${name} has ${args.length} ${args.length === 1 ? 'argument' : 'arguments'}; write ${OPERATORS[operator].form}`,
    at,
  );
}

/** The field that an argument names, as a bare word or in quotes. */
function readField(syntax: Syntax, operator: OperatorName): FieldName {
  if (syntax.kind !== 'name' && syntax.kind !== 'text')
    throw new FilterError(
      `${operator} takes a field first; found ${describeSyntax(syntax)}; write ${OPERATORS[operator].form}`,
      syntax.at,
    );
  const { text, at } = syntax;
  if (!isField(text)) {
    const nearest = nearestName(text, FIELD_NAMES);
    throw new FilterError(
      `unknown field ${shown(text)}; ${nearest === undefined ? '' : `did you mean ${nearest}? `}fields are ${FIELD_NAMES.join(', ')}`,
      at,
    );
  }
  const operators = operatorsOf(text);
  if (!operators.includes(operator))
    throw new FilterError(`${operator} does not apply to ${text}; use ${operators.join(', ')}`, at);
  return text;
}

function checkComparison(call: SyntaxCall, operator: Comparator): Draft {
  const [first, second] = call.args;
  if (!first || !second || call.args.length > 2) throw wrongArguments(call, operator);
  const field = readField(first, operator);
  const values = readOperand(field, operator, second);
  const { at } = call;
  const { pair } = fieldRow(field);
  // the table says to which half of the fields it belongs
  if (!pair) return { kind: 'compare', field: field as RunField, operator, values, at };
  const condition = { kind: 'compare', field: field as PairField, operator, values, at } as const;
  return { kind: 'draft', family: pair[0], part: pair[1], condition, at };
}

function readText(syntax: Syntax, operator: OperatorName): string {
  if (syntax.kind === 'text') return syntax.text;
  throw new FilterError(
    `${operator} takes a text in quotes; found ${describeSyntax(syntax)}; write ${OPERATORS[operator].form}`,
    syntax.at,
  );
}

function checkMember(call: SyntaxCall, operator: 'has' | 'exists'): Filter {
  const [first, second] = call.args;
  if (!first || !second || call.args.length > 2) throw wrongArguments(call, operator);
  const field = readField(first, operator);
  const text = readText(second, operator);
  const { at } = call;
  if (operator === 'exists') return { kind: 'key', key: text, at };
  if (field === 'tags') return { kind: 'tag', tag: text, at };
  return { kind: 'contains', json: readJsonObject(text, second.at), at };
}

function checkSearch(call: SyntaxCall): Filter {
  const [first, second] = call.args;
  if (!first || call.args.length > 2) throw wrongArguments(call, 'search');
  const text = readText(second ?? first, 'search');
  if (text === '') throw new FilterError('search takes a text of at least one character; found ""', call.at);
  const fields = second ? [readField(first, 'search') as SearchField] : EVERY_SEARCHED;
  return { kind: 'search', fields, text, at: call.at };
}

/** A condition that has no condition in it. */
export function checkCondition(
  call: SyntaxCall,
  operator: Exclude<OperatorName, 'and' | 'or' | 'not'>,
): Draft {
  if (operator === 'search') return checkSearch(call);
  return operator === 'has' || operator === 'exists'
    ? checkMember(call, operator)
    : checkComparison(call, operator);
}
