import {
  type FieldName,
  FIELD_NAMES,
  fieldRow,
  isField,
  operatorsOf,
  type PairField,
  type RunField,
  type SearchField,
} from '../fields.js';
import type { Filter } from '../filter.js';
import { FilterError, shown } from '../filter-error.js';
import { nearestName } from '../nearest-name.js';
import { type Comparator, type OperatorName, OPERATORS } from '../operators.js';
import type { Syntax, SyntaxCall } from '../syntax/parse-syntax.js';
import type { Draft } from './draft.js';
import { readJsonObject } from './read-json-object.js';
import { describeSyntax, readOperand } from './read-operand.js';

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
