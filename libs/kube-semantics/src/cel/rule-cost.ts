import { isJsonObject } from '#lib/json';

/** Cost of an expression: the number of its steps, and the depth of its nested loops over lists and maps. */
export interface RuleCost {
  readonly steps: number;
  readonly loops: number;
}

const LOOPS = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/** Reads the cost off the syntax tree of an expression. */
export function costOf(node: unknown): RuleCost {
  if (Array.isArray(node)) return sum(node.map(costOf));
  if (typeof node !== 'object' || node === null || !('op' in node)) return NOTHING;
  const { op, args } = node as { readonly op: string; readonly args: unknown };
  const inner = costOf(args);
  const isLoop = op === 'rcall' && Array.isArray(args) && LOOPS.has(String(args[0]));
  return { steps: inner.steps + 1, loops: inner.loops + (isLoop ? 1 : 0) };
}

const NOTHING: RuleCost = { steps: 0, loops: 0 };

function sum(costs: readonly RuleCost[]): RuleCost {
  const steps = costs.reduce((total, cost) => total + cost.steps, 0);
  return { steps, loops: Math.max(0, ...costs.map(({ loops }) => loops)) };
}

/**
 * Steps that a rule can take at most on a value of this size, roughly: every loop may go over all there is, and every
 * step look at all there is, which goes a hundred times faster.
 */
export function mostSteps({ steps, loops }: RuleCost, size: number): number {
  return steps * (size + LITERALS) ** loops * (1 + size / 100);
}

/** Length assumed for lists in the expression itself. */
const LITERALS = 20;

/** Items, fields and letters of a value: no list or text that comes out of it is larger. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 1;
  if (Array.isArray(value)) return value.reduce((total: number, item) => total + sizeOf(item), 1);
  if (!isJsonObject(value)) return 1;
  return Object.entries(value).reduce((total, [name, item]) => total + name.length + sizeOf(item), 1);
}
