import { errorsOfEach } from '../schema/errors-of-each.js';
import { Optional } from '@marcbachmann/cel-js';
import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { type Correlated, correlatedField, correlatedItem } from '../schema/correlation.js';
import { duplicate, type FieldError, forbidden, invalid, required } from '../schema/field-error.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { celValue } from './cel-value.js';
import { type CompiledRule, rulesOf } from './compiled-rule.js';
import { mostSteps, sizeOf } from './rule-cost.js';
import { type RuleContext, RuleError, type RuleProgram } from './rule-program.js';
import { TimeLimitError, withinTime } from './time-limit.js';

/** The CEL rules of a schema over a whole object; `old` makes transition rules run. */
export function validateRules(
  root: SchemaNode,
  object: JsonObject,
  old: JsonObject | undefined,
): readonly FieldError[] {
  const correlated = old === undefined ? undefined : { old };
  const whole = { schema: root, value: object, path: '', correlated, unchanged: false, isRoot: true };
  try {
    return visit({ ...whole, budget: new RuleBudget(FREE_STEPS) });
  } catch (thrown) {
    if (!(thrown instanceof BudgetSpentError)) throw thrown;
  }
  // the evaluation blocks this thread, so a long one needs a time limit
  const budget = new RuleBudget(Number.POSITIVE_INFINITY);
  try {
    return withinTime(() => visit({ ...whole, budget }), MOST_MS);
  } catch (thrown) {
    if (!(thrown instanceof TimeLimitError)) throw thrown;
    const why = `no further validation rules will be run due to call cost exceeds limit for rule: ${budget.title}`;
    return [invalid(budget.path, 'object', `'operation cancelled: actual cost limit exceeded': ${why}`)];
  }
}

/** Steps that are taken without watching the clock: about half a second where every one of them is taken. */
const FREE_STEPS = 10_000_000;
/** Kubernetes counts and stops rules after about as long. */
const MOST_MS = 500;

class BudgetSpentError extends Error {}

/** Budget for the rules of one object, and the rule that began last. */
class RuleBudget {
  title = '';
  path = '';

  constructor(private left: number) {}

  /** Throws BudgetSpentError when the rule could cost more than is left. */
  spend(rule: CompiledRule, program: RuleProgram, path: string, size: number): void {
    this.title = rule.title;
    this.path = path;
    this.left -= mostSteps(program.cost, size);
    if (this.left < 0) throw new BudgetSpentError('spent');
  }
}

interface Place {
  readonly schema: SchemaNode;
  readonly value: unknown;
  readonly path: string;
  readonly correlated: Correlated | undefined;
  /** The nearest place above that has an old value did not change. */
  readonly unchanged: boolean;
  readonly isRoot: boolean;
  readonly budget: RuleBudget;
}

function visit(place: Place): readonly FieldError[] {
  const { schema, value, correlated } = place;
  if (value === null || value === undefined) return [];
  const unchanged = correlated === undefined ? place.unchanged : jsonEquals(correlated.old, value);
  const here = { ...place, unchanged };
  const errors = [...runRules(here)];
  for (const branch of schema.branches('allOf')) {
    errors.push(...visit({ ...here, schema: branch, unchanged: place.unchanged }));
  }
  if (Array.isArray(value)) return [...errors, ...visitList(here, value)];
  return isJsonObject(value) ? [...errors, ...visitObject(here, value)] : errors;
}

function visitList(place: Place, list: readonly unknown[]): readonly FieldError[] {
  const { schema, path, correlated } = place;
  const items = schema.items;
  if (items === undefined) return [];
  return errorsOfEach(list, (value, index) =>
    visit({
      ...place,
      schema: items,
      value,
      path: `${path}[${index}]`,
      correlated: correlatedItem(correlated, schema, value),
      isRoot: false,
    }),
  );
}

function visitObject(place: Place, object: JsonObject): readonly FieldError[] {
  const { schema, path, isRoot } = place;
  const correlated = schema.mapType === 'atomic' ? undefined : place.correlated;
  return errorsOfEach(Object.entries(object), ([name, value]) => {
    if (isRoot && name === 'metadata') return [];
    const property = schema.property(name);
    const sub = property ?? schema.additionalProperties;
    if (sub === undefined) return [];
    const child = property === undefined ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    const old = correlatedField(correlated, name);
    return visit({ ...place, schema: sub, value, path: child, correlated: old, isRoot: false });
  });
}

function runRules(place: Place): readonly FieldError[] {
  const rules = rulesOf(place.schema);
  if (rules.length === 0) return [];
  const self = celValue(place.value, place.schema, place.isRoot);
  const before = place.correlated?.old ?? undefined;
  const oldSelf = before === undefined ? undefined : celValue(before, place.schema, place.isRoot);
  const size = sizeOf(place.value);
  return rules.flatMap((rule) => {
    if (!(rule.program instanceof RuleError)) place.budget.spend(rule, rule.program, place.path, size);
    return runRule(rule, place, self, oldSelf);
  });
}

function runRule(rule: CompiledRule, place: Place, self: unknown, oldSelf: unknown): readonly FieldError[] {
  const { program } = rule;
  const type = place.schema.type === '' ? 'object' : place.schema.type;
  if (program instanceof RuleError)
    return [invalid(place.path, type, `rule compile error: ${program.message}`)];
  const isTransition = program.usesOldSelf;
  if (isTransition && oldSelf === undefined && !rule.optionalOldSelf) return [];
  const context = contextOf(rule, self, oldSelf);
  const outcome = attempt(program, context);
  if (outcome === true) return [];
  if (outcome instanceof RuleError) return [invalid(place.path, type, evaluationText(rule, outcome))];
  if (!isTransition && place.unchanged) return [];
  return [failure(rule, place, type, context)];
}

function contextOf(rule: CompiledRule, self: unknown, oldSelf: unknown): RuleContext {
  if (!rule.optionalOldSelf) return oldSelf === undefined ? { self } : { self, oldSelf };
  return { self, oldSelf: oldSelf === undefined ? Optional.none() : Optional.of(oldSelf) };
}

function attempt(program: RuleProgram, context: RuleContext): unknown {
  try {
    return program.run(context);
  } catch (thrown) {
    if (thrown instanceof RuleError) return thrown;
    throw thrown;
  }
}

function evaluationText(rule: CompiledRule, error: RuleError): string {
  if (!error.message.startsWith('no such overload')) return `${error.message} evaluating rule: ${rule.title}`;
  return `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${rule.title}`;
}

function failure(rule: CompiledRule, place: Place, type: string, context: RuleContext): FieldError {
  const path =
    rule.fieldPath === ''
      ? place.path
      : place.path === ''
        ? rule.fieldPath.slice(1)
        : `${place.path}${rule.fieldPath}`;
  const text = messageOf(rule, context);
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return forbidden(path, text);
    case 'FieldValueRequired':
      return required(path, text);
    case 'FieldValueDuplicate':
      return duplicate(path, type);
    default:
      return invalid(path, type, text);
  }
}

function messageOf(rule: CompiledRule, context: RuleContext): string {
  const { messageProgram } = rule;
  if (messageProgram === undefined || messageProgram instanceof RuleError) return rule.message;
  const made = attempt(messageProgram, context);
  const text = typeof made === 'string' ? made.trim() : '';
  return text === '' || text.includes('\n') ? rule.message : text;
}
