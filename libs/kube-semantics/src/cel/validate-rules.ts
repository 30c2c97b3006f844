import { createContext, Script } from 'node:vm';
import { evaluate, Optional } from '@marcbachmann/cel-js';
import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { textAt } from '../object/reading.js';
import {
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  required,
} from '../schema/field-error.js';
import { type Correlated, correlatedField, correlatedItem, type SchemaNode } from '../schema/schema-node.js';
import { mostSteps, sizeOf } from './rule-cost.js';
import { type RuleContext, RuleError, ruleProgram, type RuleProgram } from './rule-program.js';

/** True when a schema has any rule. */
export function hasRules(schema: SchemaNode): boolean {
  if (schema.rules.length > 0) return true;
  const children = [
    ...schema.propertyNames.map((name) => schema.property(name)),
    schema.items,
    schema.additionalProperties,
  ];
  return children.some((child) => child !== undefined && hasRules(child));
}

const sandbox: { task: () => void } = { task: () => undefined };
const context = createContext(sandbox);
const script = new Script('task()');

/** The work took too long and was ended in its middle. */
class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/**
 * Runs work that nothing else could end, for it never gives the thread back. It costs a thread that watches, half a
 * millisecond, so it is for the few cases that could be long.
 * @throws TimeLimitError
 */
function withinTime<T>(work: () => T, timeoutMs: number): T {
  let result: { readonly value: T } | undefined;
  sandbox.task = () => void (result = { value: work() });
  try {
    script.runInContext(context, { timeout: timeoutMs });
  } catch (error) {
    // made by Node itself, so it belongs to another realm inside a test runner's sandbox
    const { code } = error as { readonly code?: unknown };
    if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw new TimeLimitError(`longer than ${timeoutMs} ms`);
    throw error;
  } finally {
    sandbox.task = () => undefined;
  }
  if (!result) throw new TimeLimitError(`longer than ${timeoutMs} ms`);
  return result.value;
}

/** One entry of `x-kubernetes-validations`, ready to run. */
interface CompiledRule {
  readonly program: RuleProgram | RuleError;
  readonly messageProgram: RuleProgram | RuleError | undefined;
  /** Message when the rule fails and no message expression gives a better one. */
  readonly message: string;
  /** Name of the rule in errors of its evaluation. */
  readonly title: string;
  /** Field at which the failure is reported, relative: '' or `.a.b`. */
  readonly fieldPath: string;
  readonly reason: string;
  readonly optionalOldSelf: boolean;
}

const compiled = new WeakMap<SchemaNode, readonly CompiledRule[]>();

/** The rules of one place in a schema, compiled on first use. */
function rulesOf(schema: SchemaNode): readonly CompiledRule[] {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = schema.rules.map(compile);
  compiled.set(schema, made);
  return made;
}

function compile(rule: JsonObject): CompiledRule {
  const source = textAt(rule, ['rule']).trim();
  const message = textAt(rule, ['message']).trim();
  const expression = textAt(rule, ['messageExpression']).trim();
  return {
    program: ruleProgram(source),
    messageProgram: expression === '' ? undefined : ruleProgram(expression),
    message: message === '' ? `failed rule: ${source}` : message,
    title: message === '' ? source : message,
    fieldPath: textAt(rule, ['fieldPath']),
    reason: textAt(rule, ['reason']),
    optionalOldSelf: rule['optionalOldSelf'] === true,
  };
}

/** Words that CEL keeps for itself. */
const RESERVED = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);

/** The name by which rules reach a field: `foo-bar` is `foo__dash__bar`, `namespace` is `__namespace__`. */
function celFieldName(name: string): string {
  if (RESERVED.has(name)) return `__${name}__`;
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}

const META_OF_RULES = new Set(['name', 'generateName']);

/**
 * A value as rules see it: integers as int, dates, durations and bytes as such, names of fields escaped.
 * Fields that the schema does not declare are absent, of metadata only the name is present.
 */
function celValue(value: unknown, schema: SchemaNode, isRoot = false): unknown {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) {
    const items = schema.items;
    return value.map((item) => (items === undefined ? freeValue(item) : celValue(item, items)));
  }
  if (isJsonObject(value)) return celObject(value, schema, isRoot);
  if (typeof value === 'number') return celNumber(value, schema);
  if (typeof value === 'bigint' && schema.type === 'number') return Number(value);
  return typeof value === 'string' ? celString(value, schema) : value;
}

function celObject(object: JsonObject, schema: SchemaNode, isRoot: boolean): JsonObject {
  const additional = schema.additionalProperties;
  const isResource = isRoot || schema.embeddedResource;
  const entries = Object.entries(object).flatMap(([name, value]): [string, unknown][] => {
    if (value === undefined) return [];
    if (isResource && name === 'metadata') return [[name, metaOfRules(value)]];
    if (isResource && (name === 'apiVersion' || name === 'kind')) return [[name, value]];
    const property = schema.property(name);
    if (property !== undefined) return [[celFieldName(name), celValue(value, property)]];
    return additional === undefined ? [] : [[name, celValue(value, additional)]];
  });
  return Object.fromEntries(entries);
}

function metaOfRules(metadata: unknown): JsonObject {
  if (!isJsonObject(metadata)) return {};
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => META_OF_RULES.has(name)));
}

function celNumber(value: number, schema: SchemaNode): unknown {
  const isInteger = schema.type === 'integer' || (schema.type !== 'number' && Number.isInteger(value));
  return isInteger && Number.isInteger(value) ? BigInt(value) : value;
}

function celString(value: string, schema: SchemaNode): unknown {
  switch (schema.text('format') ?? '') {
    case 'date':
      return new Date(`${value}T00:00:00Z`);
    case 'date-time':
      return new Date(value);
    case 'duration':
      return evaluate('duration(text)', { text: value });
    case 'byte':
      return new Uint8Array(Buffer.from(value, 'base64'));
    default:
      return value;
  }
}

/** A value that no schema describes. */
function freeValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(freeValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, freeValue(item)]));
}

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
