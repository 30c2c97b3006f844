import { Optional, type Environment } from '@marcbachmann/cel-js';

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
export function registerOptionalMacros(environment: Environment): void {
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
