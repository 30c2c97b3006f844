import { type ReadyRule, summarizeReady } from '#lib/reconcile';
import {
  type Condition,
  CONDITION,
  type ConditionDraft,
  setCondition,
  updateConditions,
} from '#lib/resources';

/**
 * The complete list of conditions: those that this pass found, and `Ready` computed from them. What it did not find is
 * not in it: conditions of failures exist only while true.
 */
export function conditionsOf(
  before: readonly Condition[] | undefined,
  found: readonly ConditionDraft[],
  ready: ReadyRule,
  generation: number | undefined,
  now: Date,
): readonly Condition[] {
  const types = new Set(found.map(({ type }) => type));
  const kept = (before ?? []).filter(({ type }) => types.has(type) || type === CONDITION.ready);
  const drafts = Object.fromEntries(found.map(({ type, ...draft }) => [type, draft]));
  const conditions = updateConditions(kept, drafts, generation, now);
  const others = conditions.filter(({ type }) => type !== CONDITION.ready);
  return setCondition(conditions, summarizeReady(others, ready, generation), now);
}
