import type { ASTNode } from '@marcbachmann/cel-js';
import { ruleEnvironment } from './environment.js';
import { costOf, type RuleCost } from './rule-cost.js';

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
