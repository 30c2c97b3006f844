import type { PairFamily, PairPart } from '../fields.js';
import type { Filter, PairCondition } from '../filter.js';

/** Conditions about a pair, as long as it is open which pair: the nearest `and` decides. */
export interface PairDraft {
  readonly kind: 'draft';
  readonly family: PairFamily;
  readonly part: PairPart;
  readonly condition: PairCondition;
  readonly at: number;
}

export type Draft = Filter | PairDraft;

export function isNegative(condition: PairCondition): boolean {
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
