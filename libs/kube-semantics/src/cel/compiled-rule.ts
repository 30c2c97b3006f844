import type { JsonObject } from '#lib/json';
import { textAt } from '../object/reading.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { type RuleError, ruleProgram, type RuleProgram } from './rule-program.js';

/** One entry of `x-kubernetes-validations`, ready to run. */
export interface CompiledRule {
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
export function rulesOf(schema: SchemaNode): readonly CompiledRule[] {
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
