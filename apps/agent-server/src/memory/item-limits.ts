import { PublicError, type FieldProblem } from '#lib/errors';
import { isJsonObject, isValueDeeperThan, type JsonObject } from '#lib/json';
import { documentBytes } from '../store/json-text.js';
import type { ItemPlace } from '../store/row/item-row.js';

/** Limit of a place: with the next, the most that an entry of the table's key can hold. */
const MAX_PLACE_BYTES = 2_000;
const MAX_LABELS = 20;
/** Limit of the lists in requests: longer ones are not read at all. */
export const MAX_GIVEN_LABELS = 100;
const MAX_VALUE_BYTES = 8 * 1024 * 1024;
const MAX_VALUE_DEPTH = 128;
/** Limit above that of models, of which the largest take some 30,000 tokens. */
const MAX_QUERY_CHARS = 200_000;

function problem(loc: FieldProblem['loc'], msg: string): FieldProblem {
  return { loc: ['body', ...loc], msg, type: 'value_error' };
}

/** Problem of one label of a namespace; undefined for none. */
function labelProblem(label: unknown): string | undefined {
  if (typeof label !== 'string') return 'must be a text';
  if (label === '') return 'must not be empty';
  if (label.includes('.')) return 'must not hold a period';
  return textProblem(label);
}

/** A text that the database would keep as another one must not name anything. */
function textProblem(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not hold a NUL character';
  return text.isWellFormed() ? undefined : 'must not hold half a character';
}

function namespaceProblems(field: string, labels: readonly unknown[]): FieldProblem[] {
  // the labels of a list that is too long are not checked: there may be millions
  if (labels.length > MAX_LABELS) return [problem([field], `must not have more than ${MAX_LABELS} labels`)];
  return labels.flatMap((label, index) => {
    const msg = labelProblem(label);
    return msg === undefined ? [] : [problem([field, index], msg)];
  });
}

function refuseAny(problems: readonly FieldProblem[]): void {
  const [first] = problems;
  if (first === undefined) return;
  const place = first.loc.slice(1).join('.');
  throw new PublicError('invalid', `store: ${place} ${first.msg}`, problems);
}

/** @throws PublicError `invalid` for labels that no namespace has */
export function requireLabels(field: string, labels: readonly unknown[]): void {
  refuseAny(namespaceProblems(field, labels));
}

/** @throws PublicError `invalid` for an invalid place of an item */
export function requirePlace({ namespace, key }: ItemPlace): void {
  const problems = namespaceProblems('namespace', namespace);
  if (namespace.length === 0) problems.push(problem(['namespace'], 'must not be empty'));
  if (namespace[0] === 'langgraph')
    problems.push(problem(['namespace', 0], 'must not be "langgraph", which belongs to the library'));
  const keyProblem = typeof key === 'string' ? textProblem(key) : 'must be a text';
  if (keyProblem !== undefined) problems.push(problem(['key'], keyProblem));
  else if (Buffer.byteLength(namespace.join('') + key) > MAX_PLACE_BYTES)
    problems.push(problem(['key'], `must not be longer than ${MAX_PLACE_BYTES} bytes with its namespace`));
  refuseAny(problems);
}

/** @throws PublicError `invalid`, `too_large` */
export function requireValue(value: unknown): asserts value is JsonObject {
  if (!isJsonObject(value)) refuseAny([problem(['value'], 'must be an object')]);
  if (isValueDeeperThan(value, MAX_VALUE_DEPTH))
    refuseAny([problem(['value'], `must not nest deeper than ${MAX_VALUE_DEPTH} levels`)]);
  if (documentBytes(value) > MAX_VALUE_BYTES)
    throw new PublicError('too_large', `store: a value must not be larger than ${MAX_VALUE_BYTES} bytes`);
}

/** @throws PublicError `invalid` for a query that no model embeds */
export function requireQuery(query: unknown): void {
  if (query === undefined) return;
  if (typeof query !== 'string') refuseAny([problem(['query'], 'must be a text')]);
  else if (query.length > MAX_QUERY_CHARS)
    refuseAny([
      problem(['query'], `must not have more than ${MAX_QUERY_CHARS} characters, and has ${query.length}`),
    ]);
}
