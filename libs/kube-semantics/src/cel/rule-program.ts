import { type ASTNode, Environment, Optional } from '@marcbachmann/cel-js';
import { registerListFunctions } from './list-functions.js';
import { registerIpFunctions, registerQuantityFunctions } from './quantity-functions.js';
import { costOf, type RuleCost } from './rule-cost.js';
import { registerStringFunctions, registerUrlFunctions } from './string-functions.js';

/** Node that the engine hands to a macro; only the parts used here. */
interface Node {
  readonly op: string;
  readonly args: unknown;
}
interface Scope {
  forkWithVariable(name: string, type: unknown): BoundScope;
}
interface BoundScope extends Scope {
  reuse(scope: Scope): { setIterValue(value: unknown, evaluator: Evaluator): Scope };
}
interface Checker {
  check(node: Node, scope: Scope): { readonly valueType?: unknown };
  getType(name: string): unknown;
}
interface Evaluator {
  run(node: Node, scope: Scope): unknown;
}
interface Call {
  readonly args: readonly Node[];
  readonly receiver: Node;
}
interface Macro {
  readonly name: string;
  readonly expression: Node;
  readonly receiver: Node;
  scope: BoundScope | undefined;
}

/** `optional.optMap(x, …)` and `optional.optFlatMap(x, …)`, which rules with an optional oldSelf live on. */
function registerOptionalMacros(environment: Environment): void {
  environment.registerFunction(
    'optional.optMap(ast, ast): optional<dyn>',
    mapping((value) => Optional.of(value)),
  );
  environment.registerFunction(
    'optional.optFlatMap(ast, ast): optional<dyn>',
    mapping((value) => (value instanceof Optional ? value : Optional.none())),
  );
}

function mapping(wrap: (value: unknown) => unknown) {
  return ({ args: [variable, expression], receiver }: Call) => {
    if (variable?.op !== 'id' || expression === undefined) throw new Error('invalid variable argument');
    const macro: Macro = { name: String(variable.args), expression, receiver, scope: undefined };
    return {
      ...macro,
      typeCheck(checker: Checker, self: Macro, scope: Scope): unknown {
        const type = checker.check(self.receiver, scope).valueType ?? checker.getType('dyn');
        self.scope = scope.forkWithVariable(self.name, type);
        checker.check(self.expression, self.scope);
        return checker.getType('optional');
      },
      evaluate(evaluator: Evaluator, self: Macro, scope: Scope): unknown {
        const optional = evaluator.run(self.receiver, scope);
        if (!(optional instanceof Optional)) throw new Error('no such overload');
        if (!optional.hasValue() || self.scope === undefined) return Optional.none();
        const bound = self.scope.reuse(scope).setIterValue(optional.value(), evaluator);
        return wrap(evaluator.run(self.expression, bound));
      },
    };
  };
}

/** The variables and functions that rules of a CustomResourceDefinition may use. */
const ruleEnvironment: Environment = build();

function build(): Environment {
  const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false });
  environment.registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');
  registerListFunctions(environment);
  registerStringFunctions(environment);
  registerUrlFunctions(environment);
  registerQuantityFunctions(environment);
  registerIpFunctions(environment);
  registerOptionalMacros(environment);
  // fields of the format date-time are timestamps already, and rules that also run elsewhere convert them once more
  environment.registerFunction(
    'timestamp(google.protobuf.Timestamp): google.protobuf.Timestamp',
    (value: unknown) => value,
  );
  return environment;
}

/** Variables of a rule. */
export interface RuleContext {
  readonly self: unknown;
  readonly oldSelf?: unknown;
}

/** A compiled expression. */
export interface RuleProgram {
  readonly usesOldSelf: boolean;
  readonly cost: RuleCost;
  /** Throws RuleError. */
  run(context: RuleContext): unknown;
}

/** An expression that cannot be compiled or evaluated; the message is what Kubernetes would say. */
export class RuleError extends Error {}

const programs = new Map<string, RuleProgram | RuleError>();
const MOST = 5000;

/** Compiles an expression once. */
export function ruleProgram(source: string): RuleProgram | RuleError {
  const known = programs.get(source);
  if (known !== undefined) return known;
  if (programs.size >= MOST) programs.clear();
  const made = compile(source);
  programs.set(source, made);
  return made;
}

function compile(source: string): RuleProgram | RuleError {
  try {
    const parsed = ruleEnvironment.parse(translate(source));
    const checked = parsed.check();
    if (!checked.valid && isFatal(checked.error?.message ?? '')) return new RuleError(summary(checked.error));
    return {
      usesOldSelf: mentions(parsed.ast, 'oldSelf'),
      cost: costOf(parsed.ast),
      run: (context) => run(parsed, context),
    };
  } catch (thrown) {
    return new RuleError(summary(thrown));
  }
}

/** Errors on dynamic values show only in a run; these two are certain at compile time. */
function isFatal(message: string): boolean {
  return message.startsWith('Unknown variable') || message.startsWith('found no matching overload');
}

function run(parsed: (context: Record<string, unknown>) => unknown, context: RuleContext): unknown {
  try {
    return parsed({ ...context });
  } catch (thrown) {
    throw new RuleError(summary(thrown));
  }
}

/**
 * The engine knows `matches` only with JavaScript's expressions, whose run time is unbounded, and `existsOne` only by its
 * older name: both are renamed outside of string literals.
 */
function translate(source: string): string {
  const literal = /[rRbB]{0,2}(?:"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')/.source;
  return source.replaceAll(
    new RegExp(`${literal}|\\bmatches(?=\\s*\\()|\\bexistsOne(?=\\s*\\()`, 'g'),
    (found) => {
      if (found === 'matches') return 'reMatches';
      return found === 'existsOne' ? 'exists_one' : found;
    },
  );
}

/** The engine's words turned into those of Kubernetes' engine. */
function summary(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const first = message.split('\n')[0] ?? '';
  const bounds = /index out of bounds, index (-?\d+)/.exec(first);
  if (bounds !== null) return `index out of bounds: ${bounds[1]}`;
  return first
    .replace(/^No such key: /, 'no such key: ')
    .replace(/^modulo by zero/, 'modulus by zero')
    .replace(/^integer overflow.*/, 'return error for overflow')
    .replace(/^found no matching overload for .*/, 'no such overload')
    .replace(/^no such overload: .*/, 'no such overload')
    .replace(/reMatches/g, 'matches');
}

function mentions(node: unknown, name: string): boolean {
  if (Array.isArray(node)) return node.some((item) => mentions(item, name));
  if (typeof node !== 'object' || node === null || !('op' in node)) return false;
  const { op, args } = node as ASTNode;
  return op === 'id' ? args === name : mentions(args, name);
}
